// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.io.IOException;
import java.net.InetAddress;
import java.util.List;
import java.util.Locale;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;

/** The bank workload on Spring Boot: flags and wiring. */
public final class Main {

    /** What Tomcat came with in 2018: so many connections at once, so many more that wait to be accepted. */
    private static final int CONNECTIONS_2018 = 10_000;
    private static final int BACKLOG_2018 = 100;

    /** Go has no limit to connections, and lets as many wait as the kernel does. */
    private static final int CONNECTIONS = 1_000_000;
    private static final int BACKLOG = 4_096;

    /** A service that accepts connections, until it is closed. */
    record Running(ConfigurableApplicationContext context) implements AutoCloseable {

        int port() {
            return ((WebServerApplicationContext) context).getWebServer().getPort();
        }

        /** Accepts nothing new, finishes what is in flight, and returns within the contract's time. */
        @Override
        public void close() {
            context.close();
        }
    }

    private Main() {
    }

    /** Runs the service until SIGTERM. */
    public static void main(String[] args) {
        try {
            Settings settings = Settings.parse(args);
            run(settings, settings.lean() ? null : DatabaseAddress.of(System.getenv()));
        } catch (Settings.BadFlag bad) {
            exit(2, bad.getMessage());
        }
    }

    private static void run(Settings settings, DatabaseAddress database) {
        String address = "host=" + settings.host() + " port=" + settings.port();
        try {
            InetAddress.getByName(settings.host()); // else found out in the middle of Spring's own start
            Running running = serve(settings, database, AccessLog.open(settings));
            Runtime.getRuntime().addShutdownHook(new Thread(running::close, "stop"));
            System.err.println("listening host=" + settings.host() + " port=" + running.port());
        } catch (PortInUseException taken) {
            exit(1, "cannot listen on " + address + ": " + taken.getMessage());
        } catch (IOException | RuntimeException failed) {
            exit(1, "cannot start with " + address + ": " + oneLine(failed));
        }
    }

    /** Starts the service; {@code database} may be null when the service is lean. */
    static Running serve(Settings settings, DatabaseAddress database, AccessLog log) {
        SpringApplication application = new SpringApplication(Service.class);
        application.setRegisterShutdownHook(false); // Running says when
        application.addInitializers(context -> {
            GenericApplicationContext beans = (GenericApplicationContext) context;
            beans.registerBean(Settings.class, () -> settings);
            if (database != null) {
                beans.registerBean(DatabaseAddress.class, () -> database);
            }
            beans.registerBean(AccessLog.class, () -> log);
        });
        return new Running(application.run(properties(settings)));
    }

    /** What the flags say in Spring's words; it goes before every other source of properties. */
    private static String[] properties(Settings settings) {
        boolean old = settings.face().isOld();
        String face = settings.face().name() + (old ? "" : "," + settings.craft().name());
        String profile = settings.lean() ? "lean" : face.toLowerCase(Locale.ROOT);
        return List.of(
                "--server.tomcat.max-connections=" + (old ? CONNECTIONS_2018 : CONNECTIONS),
                "--server.tomcat.accept-count=" + (old ? BACKLOG_2018 : BACKLOG),
                "--spring.profiles.active=" + profile,
                "--server.address=" + settings.host(),
                "--server.port=" + settings.port(),
                "--server.tomcat.threads.max=" + settings.maxThreads(),
                "--spring.threads.virtual.enabled=" + (settings.threads() == Settings.Threads.VIRTUAL))
                .toArray(String[]::new);
    }

    private static String oneLine(Throwable failed) {
        Throwable cause = failed;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause.toString().replaceAll("\\p{Cntrl}+", " ");
    }

    private static void exit(int status, String line) {
        System.err.println(line);
        System.exit(status);
    }
}
