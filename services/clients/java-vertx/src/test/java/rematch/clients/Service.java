// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.util.Map;

/** The service, started as production starts it, but in this process. */
final class Service implements AutoCloseable {

    private final Main.Running running;

    private Service(Main.Running running) {
        this.running = running;
    }

    static Service start(Map<String, String> environment, String... flags) throws Exception {
        Settings settings = Settings.parse(environment, flags);
        return new Service(Main.serve(settings, AccessLog.open(settings)));
    }

    int port() {
        return running.port();
    }

    @Override
    public void close() {
        running.close();
    }
}
