// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Settings as properties of Quarkus that are read at its start. */
final class Properties {

    private static final String DATABASE = "quarkus.datasource.";
    private static final String DRIVER = DATABASE + "jdbc.additional-jdbc-properties.";
    private static final String UPSTREAM = "quarkus.rest-client.upstream.";
    private static final int MS_PER_S = 1_000;
    private static final int PUBLISHED_INITIAL = 10;

    private Properties() {
    }

    static Map<String, String> of(Settings settings) {
        boolean blocking = settings.mode() == Settings.Mode.BLOCKING;
        Map<String, String> properties = new LinkedHashMap<>();
        properties.put("quarkus.http.host", settings.host());
        properties.put("quarkus.http.port", Integer.toString(settings.port()));
        properties.put("rematch.lean", Boolean.toString(settings.lean()));
        String enabled = kind(settings) + (blocking ? "blocking" : "reactive");
        for (String resource : List.of("blocking", "reactive", "tuned-blocking", "tuned-reactive", "published-blocking",
                "published-reactive")) {
            properties.put("rematch." + resource, Boolean.toString(!settings.lean() && resource.equals(enabled)));
        }
        if (!settings.lean()) {
            upstream(properties, settings);
            database(properties, settings);
        }
        properties.replaceAll((name, value) -> literal(value));
        return properties;
    }

    private static String kind(Settings settings) {
        if (settings.face() == Settings.Face.PUBLISHED) {
            return "published-";
        }
        return settings.craft() == Settings.Craft.TUNED ? "tuned-" : "";
    }

    private static void upstream(Map<String, String> properties, Settings settings) {
        String timeout = Integer.toString(settings.upstreamTimeoutMs());
        properties.put(UPSTREAM + "url", settings.surroundings().upstreamUrl());
        properties.put(UPSTREAM + "connection-pool-size", Integer.toString(settings.upstreamConnections()));
        properties.put(UPSTREAM + "connect-timeout", timeout);
        properties.put(UPSTREAM + "read-timeout", timeout);
    }

    /** Only the pool of the mode gets an address; the other one stays inactive. */
    private static void database(Map<String, String> properties, Settings settings) {
        Settings.Surroundings surroundings = settings.surroundings();
        String host = surroundings.pgHost();
        String place = "postgresql://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + surroundings.pgPort()
                + "/" + URLEncoder.encode(surroundings.pgDatabase(), StandardCharsets.UTF_8).replace("+", "%20");
        properties.put(DATABASE + "username", surroundings.pgUser());
        if (!surroundings.pgPassword().isEmpty()) {
            properties.put(DATABASE + "password", surroundings.pgPassword());
        }
        if (settings.mode() == Settings.Mode.REACTIVE) {
            properties.put(DATABASE + "reactive.url", place);
            properties.put(DATABASE + "reactive.max-size", Integer.toString(settings.poolSize()));
            return;
        }
        properties.put(DATABASE + "jdbc.url", "jdbc:" + place);
        properties.put(DATABASE + "jdbc.max-size", Integer.toString(settings.poolSize()));
        properties.put(DATABASE + "jdbc.min-size", Integer.toString(settings.poolMin()));
        int initial = settings.face() == Settings.Face.PUBLISHED
                ? Math.min(PUBLISHED_INITIAL, settings.poolSize()) : settings.poolMin();
        properties.put(DATABASE + "jdbc.initial-size", Integer.toString(initial));
        properties.put(DATABASE + "jdbc.acquisition-timeout", settings.poolWaitMs() + "MS");
        // The server gives up a statement that takes longer than a connection is waited for; a server that says nothing
        // at all is given up a little later.
        String silentS = Integer.toString((settings.poolWaitMs() + MS_PER_S - 1) / MS_PER_S + 1);
        properties.put(DRIVER + "options", "-c statement_timeout=" + settings.poolWaitMs());
        properties.put(DRIVER + "loginTimeout", silentS);
        properties.put(DRIVER + "socketTimeout", silentS);
    }

    /** Quarkus would replace what looks like an expression; a password may look like one. */
    private static String literal(String value) {
        return value.replace("$", "\\$");
    }
}
