// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.runtime.ImageMode;
import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.QuarkusApplication;
import io.quarkus.runtime.annotations.QuarkusMain;
import io.quarkus.vertx.http.HttpServer;
import jakarta.inject.Inject;

/** The clients workload on Quarkus: flags, their translation into Quarkus' properties, exit statuses. */
@QuarkusMain
public final class Main implements QuarkusApplication {

    @Inject
    Settings settings;

    @Inject
    HttpServer server;

    /** Runs the service until SIGTERM. */
    public static void main(String[] args) {
        try {
            Settings settings = Settings.parse(System.getenv(), args);
            if (ImageMode.current() == ImageMode.NATIVE_RUN) {
                settings.refuseUnlessReactive();
            }
            Properties.of(settings).forEach(System::setProperty);
            String address = "host=" + settings.host() + " port=" + settings.port();
            Quarkus.run(Main.class, (status, failure) -> left(address, status, failure), args);
        } catch (Settings.BadSetting bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
        }
    }

    /** Called when everything is started. */
    @Override
    public int run(String... args) {
        System.err.println("listening host=" + settings.host() + " port=" + server.getPort());
        Quarkus.waitForExit();
        return 0;
    }

    private static void left(String address, int status, Throwable failure) {
        if (failure != null) {
            Throwable cause = failure;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            System.err.println("cannot start with " + address + ": " + cause);
        }
        System.exit(status);
    }
}
