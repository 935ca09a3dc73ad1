// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Where the database is and who asks: PostgreSQL's own environment variables, which Java's driver does not read. */
record DatabaseAddress(String host, int port, String user, String password, String database) {

    /** Reads the environment, where all of it must be. */
    static DatabaseAddress of(Map<String, String> environment) throws Settings.BadFlag {
        return new DatabaseAddress(value(environment, "PGHOST"), port(environment), value(environment, "PGUSER"),
                present(environment, "PGPASSWORD"), value(environment, "PGDATABASE"));
    }

    /** TLS is off by contract: even asking for it costs each connection a round trip. */
    String jdbcUrl() {
        String authority = host.contains(":") ? "[" + host + "]" : host;
        return "jdbc:postgresql://" + authority + ":" + port + "/"
                + URLEncoder.encode(database, StandardCharsets.UTF_8) + "?sslmode=disable";
    }

    /** Says nothing of the password, so that no log line ever does. */
    @Override
    public String toString() {
        return "host=" + host + " port=" + port + " user=" + user + " database=" + database;
    }

    private static String present(Map<String, String> environment, String name) throws Settings.BadFlag {
        String value = environment.get(name);
        if (value == null) {
            throw new Settings.BadFlag(name + " is missing in the environment; it says where the database is");
        }
        return value;
    }

    private static String value(Map<String, String> environment, String name) throws Settings.BadFlag {
        String value = present(environment, name);
        if (value.isEmpty()) {
            throw new Settings.BadFlag(name + " is empty in the environment; it says where the database is");
        }
        return value;
    }

    private static int port(Map<String, String> environment) throws Settings.BadFlag {
        String port = value(environment, "PGPORT");
        if (port.matches("[0-9]{1,5}") && Integer.parseInt(port) >= 1 && Integer.parseInt(port) <= 65_535) {
            return Integer.parseInt(port);
        }
        throw new Settings.BadFlag(
                "PGPORT=" + port.replaceAll("\\p{Cntrl}", "?") + " is not allowed; allowed: 1..65535");
    }
}
