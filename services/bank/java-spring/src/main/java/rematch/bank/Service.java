// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import jakarta.servlet.http.HttpServletRequest;
import java.util.List;
import javax.sql.DataSource;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.servlet.autoconfigure.HttpEncodingAutoConfiguration;
import org.springframework.boot.servlet.autoconfigure.MultipartAutoConfiguration;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.boot.webmvc.autoconfigure.error.ErrorMvcAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Profile;
import org.springframework.core.MethodParameter;
import org.springframework.core.Ordered;
import org.springframework.web.bind.support.WebDataBinderFactory;
import org.springframework.web.context.request.NativeWebRequest;
import org.springframework.web.method.support.HandlerMethodArgumentResolver;
import org.springframework.web.method.support.ModelAndViewContainer;
import org.springframework.web.servlet.config.annotation.ContentNegotiationConfigurer;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/**
 * The application. Its profiles are the face and, of the matched one, the craft, or {@code lean} alone; left out is what
 * would read bodies or answer errors in another way than the contract's.
 */
@SpringBootApplication(proxyBeanMethods = false, exclude = {
    DataSourceAutoConfiguration.class,
    ErrorMvcAutoConfiguration.class,
    HttpEncodingAutoConfiguration.class,
    MultipartAutoConfiguration.class})
class Service implements WebMvcConfigurer {

    @Bean
    @Profile("!lean")
    DatabaseConnections databaseConnections(Settings settings, DatabaseAddress database) {
        return new DatabaseConnections(settings, database);
    }

    /** The same to all, pooled or not; {@link DatabaseConnections} closes it. */
    @Bean(destroyMethod = "")
    @Profile("!lean")
    DataSource dataSource(DatabaseConnections connections) {
        return connections.source();
    }

    @Bean
    @Profile("!lean")
    Metrics metrics(DatabaseConnections connections) {
        return new Metrics(connections);
    }

    @Bean
    @Profile("matched")
    FilterRegistrationBean<Gate> gate(AccessLog log, Metrics metrics) {
        FilterRegistrationBean<Gate> gate = new FilterRegistrationBean<>(new Gate(log, metrics));
        gate.setOrder(Ordered.HIGHEST_PRECEDENCE);
        return gate;
    }

    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> tomcat() {
        return factory -> {
            factory.setProtocol(HeadLimit.class.getName());
            factory.addContextCustomizers(context -> {
                if (context.getParent() instanceof org.apache.catalina.core.StandardHost host) {
                    host.setErrorReportValveClass(ErrorValve.class.getName());
                }
            });
            factory.addConnectorCustomizers(connector -> {
                // These are for the routes to refuse.
                connector.setAllowTrace(true);
                connector.setEncodedSolidusHandling("passthrough");
                // After the time for what is in flight, Tomcat would wait another 5 s for its threads.
                connector.setProperty("executorTerminationTimeoutMillis", "200");
            });
        };
    }

    @Override
    public void addArgumentResolvers(List<HandlerMethodArgumentResolver> resolvers) {
        resolvers.add(new BodyResolver());
    }

    /** Whatever a caller would like to get, there is JSON. */
    @Override
    public void configureContentNegotiation(ContentNegotiationConfigurer negotiation) {
        negotiation.ignoreAcceptHeader(true);
    }

    /** Hands a handler the body whatever its content type says; Spring would take a form apart. */
    private static final class BodyResolver implements HandlerMethodArgumentResolver {

        @Override
        public boolean supportsParameter(MethodParameter parameter) {
            return parameter.getParameterType().equals(Body.class);
        }

        @Override
        public Body resolveArgument(MethodParameter parameter, ModelAndViewContainer model, NativeWebRequest request,
                                    WebDataBinderFactory binders) {
            return Body.of(request.getNativeRequest(HttpServletRequest.class));
        }
    }
}
