// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.quarkus.runtime.annotations.CommandLineArguments;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.io.IOException;

/** What beans are made of: all of it follows from the command line and the environment. */
final class Wiring {

    @Produces
    @Singleton
    Settings settings(@CommandLineArguments String[] args) throws Settings.BadSetting {
        return Settings.parse(System.getenv(), args);
    }

    @Produces
    @Singleton
    AccessLog accessLog(Settings settings) throws IOException {
        return AccessLog.open(settings);
    }

    @Produces
    @Singleton
    Turns turns(Settings settings) {
        return new Turns(settings.face() == Settings.Face.MATCHED, settings.minorPercent());
    }

    @Produces
    @Singleton
    Faults faults() {
        return new Faults();
    }
}
