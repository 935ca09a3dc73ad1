// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A real PostgreSQL of its own: a new cluster with the contract's table, on loopback, gone when it is closed. */
final class Postgres {

    static final String USER = "clients_test";
    private static final Path CONTRACT = Path.of("..", "contract");
    private static final String UNPRIVILEGED = "postgres"; // the server refuses to run as root
    private static final int START_WITHIN_S = 30;

    private final Path bin = bin();
    private final Path folder;
    private final int port;
    private final String password = UUID.randomUUID() + "${p}\\d$$e$"; // as awkward as a password may be
    private Process server;

    private Postgres(Path folder, int port) {
        this.folder = folder;
        this.port = port;
    }

    static Postgres start() throws IOException, InterruptedException {
        Postgres postgres = new Postgres(Files.createTempDirectory("clients-postgres"), freePort());
        Runtime.getRuntime().addShutdownHook(new Thread(postgres::abandon)); // if the tests are stopped, or fail here
        postgres.initialise();
        postgres.up();
        postgres.ask("template1", "create database clients");
        postgres.fill();
        return postgres;
    }

    /** What a service is told of it, and of where the upstream is. */
    Map<String, String> environment(String upstreamUrl) {
        return Map.of("UPSTREAM_URL", upstreamUrl, "PGHOST", "127.0.0.1", "PGPORT", Integer.toString(port),
                "PGUSER", USER, "PGPASSWORD", password, "PGDATABASE", "clients");
    }

    /** Starts the server, again after a {@link #kill}, and waits until it answers. */
    void up() throws IOException, InterruptedException {
        up(60);
    }

    void up(int maxConnections) throws IOException, InterruptedException {
        server = run(List.of(bin.resolve("postgres").toString(), "-D", folder.resolve("data").toString(), "-h", "127.0.0.1", "-p",
                Integer.toString(port), "-k", "", "-c", "fsync=off", "-c", "max_connections=" + maxConnections));
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_WITHIN_S);
        while (psql("template1", "-c", "select 1").waitFor() != 0) {
            if (!server.isAlive() || System.nanoTime() > until) {
                throw new IOException("PostgreSQL did not start; see " + folder.resolve("log"));
            }
            Thread.sleep(50);
        }
    }

    /** Ends the server at once, as a crash would. */
    void kill() throws IOException, InterruptedException {
        signal("QUIT");
        server.waitFor();
    }

    void freeze() throws IOException, InterruptedException {
        for (ProcessHandle process : all()) {
            new ProcessBuilder("kill", "-STOP", Long.toString(process.pid())).start().waitFor();
        }
    }

    void thaw() throws IOException, InterruptedException {
        for (ProcessHandle process : all()) {
            new ProcessBuilder("kill", "-CONT", Long.toString(process.pid())).start().waitFor();
        }
    }

    /** Connections to the table's database, besides the one that asks. */
    int connections() throws IOException, InterruptedException {
        return Integer.parseInt(ask("clients",
                "select count(*) from pg_stat_activity where datname = 'clients' and pid <> pg_backend_pid()"));
    }

    String ask(String database, String sql) throws IOException, InterruptedException {
        Process psql = psql(database, "-c", sql);
        String said = new String(psql.getInputStream().readAllBytes()).strip();
        if (psql.waitFor() != 0) {
            throw new IOException("psql: " + said);
        }
        return said;
    }

    /** Starts something that goes on. */
    Process hold(String sql) throws IOException {
        return psql("clients", "-c", sql);
    }

    /** A connection that does nothing for as long as its process lives. */
    Process idle() throws IOException {
        return psql("clients", "-f", "-"); // waits for statements that never come
    }

    /** The table as the contract has it. */
    void fill() throws IOException, InterruptedException {
        ask("clients", "drop table if exists movie");
        for (String file : List.of("schema.sql", "seed-movies.sql")) {
            Process psql = psql("clients", "-f", CONTRACT.resolve(file).toString());
            String said = new String(psql.getInputStream().readAllBytes());
            if (psql.waitFor() != 0) {
                throw new IOException(file + ": " + said);
            }
        }
    }

    void close() throws IOException, InterruptedException {
        thaw();
        signal("QUIT");
        server.waitFor();
        removeFolder();
    }

    private void abandon() {
        if (server != null) {
            server.destroyForcibly();
        }
        if (Files.exists(folder)) {
            removeFolder();
        }
    }

    private void removeFolder() {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException | UncheckedIOException busy) {
            System.err.println("left over: " + folder);
        }
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private void initialise() throws IOException, InterruptedException {
        Path secret = Files.writeString(folder.resolve("secret"), password + "\n");
        if (root()) {
            UserPrincipalLookupService users = folder.getFileSystem().getUserPrincipalLookupService();
            Files.setOwner(secret, users.lookupPrincipalByName(UNPRIVILEGED));
            Files.setOwner(folder, users.lookupPrincipalByName(UNPRIVILEGED));
        }
        Path data = folder.resolve("data");
        Process initdb = run(List.of(bin.resolve("initdb").toString(), "-D", data.toString(), "-U", USER, "-A",
                "scram-sha-256", "--pwfile", secret.toString(), "-E", "UTF8", "--no-locale", "--no-sync"));
        if (initdb.waitFor() != 0) {
            throw new IOException("initdb failed: " + Files.readString(folder.resolve("log")));
        }
    }

    private Process run(List<String> command) throws IOException {
        List<String> whole = new ArrayList<>();
        if (root()) {
            whole.addAll(List.of("setpriv", "--reuid=" + UNPRIVILEGED, "--regid=" + UNPRIVILEGED, "--clear-groups"));
        }
        whole.addAll(command);
        return new ProcessBuilder(whole).directory(folder.toFile()).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile())).start();
    }

    private Process psql(String database, String what, String argument) throws IOException {
        ProcessBuilder psql = new ProcessBuilder(bin.resolve("psql").toString(), "-X", "-q", "-A", "-t", "-v",
                "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", Integer.toString(port), "-U", USER, "-d", database,
                what, argument);
        psql.environment().put("PGPASSWORD", password);
        return psql.redirectErrorStream(true).start();
    }

    private void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(server.pid())).start().waitFor();
    }

    /** The server and its children. */
    private List<ProcessHandle> all() {
        return Stream.concat(Stream.of(server.toHandle()), server.descendants()).toList();
    }

    private static boolean root() {
        return "root".equals(System.getProperty("user.name"));
    }

    /** On the path stand often only links to some of the programs. */
    private static Path beside(Path program) {
        try {
            return program.toRealPath().getParent();
        } catch (IOException gone) {
            throw new UncheckedIOException(gone);
        }
    }

    /** Where the server's programs are: on the path, or where Debian keeps the newest. */
    private static Path bin() {
        for (String entry : System.getenv("PATH").split(":")) {
            if (Files.isExecutable(Path.of(entry, "initdb")) && Files.isExecutable(Path.of(entry, "postgres"))) {
                return beside(Path.of(entry, "initdb"));
            }
        }
        try (Stream<Path> versions = Files.list(Path.of("/usr/lib/postgresql"))) {
            return versions.map(version -> version.resolve("bin"))
                    .filter(bin -> Files.isExecutable(bin.resolve("initdb")))
                    .max(Comparator.comparing(bin -> Double.parseDouble(bin.getParent().getFileName().toString())))
                    .orElseThrow();
        } catch (IOException | RuntimeException none) {
            throw new IllegalStateException("these tests need PostgreSQL's initdb, postgres and psql: on the PATH, "
                    + "or below /usr/lib/postgresql (Debian: apt-get install postgresql)", none);
        }
    }
}
