// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** A real PostgreSQL, thrown away at the end: one cluster for all tests, a database for each. */
final class Postgres {

    static final int MAX_CONNECTIONS = 40;

    private static final Path SCHEMA = Path.of("..", "contract", "schema.sql");
    private static final String USER = "postgres";

    private static Postgres shared;

    private final Path folder;
    private final Path programs;
    private final List<String> asUser;
    private final String password = UUID.randomUUID().toString();
    private final int port = freePort();
    private final AtomicInteger databases = new AtomicInteger();
    private Process guard;

    private Postgres() throws Exception {
        programs = programs();
        boolean root = "root".equals(System.getProperty("user.name"));
        asUser = root
                ? List.of("setpriv", "--reuid=" + USER, "--regid=" + USER, "--clear-groups")
                : List.of();
        folder = Files.createTempDirectory("rematch-bank-");
        Path secret = Files.writeString(folder.resolve("password"), password);
        if (root) {
            give(secret);
            give(folder);
        }
        Process initdb = new ProcessBuilder(command(asUser, programs.resolve("initdb").toString(),
                "--pgdata=" + data(), "--username=" + USER, "--pwfile=" + secret, "--auth=scram-sha-256",
                "--encoding=UTF8", "--locale=C", "--no-sync",
                "--wal-segsize=1")) // see full
                .redirectErrorStream(true).directory(folder.toFile()).start();
        String said = new String(initdb.getInputStream().readAllBytes());
        if (initdb.waitFor() != 0) {
            throw new IllegalStateException("initdb failed: " + said);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(this::discard));
        start();
    }

    static synchronized Postgres shared() throws Exception {
        if (shared == null) {
            shared = new Postgres();
        }
        return shared;
    }

    /** A fresh database with the contract's tables. */
    DatabaseAddress database() throws Exception {
        String name = "bank" + databases.incrementAndGet();
        execute(address(USER), "CREATE DATABASE " + name);
        execute(address(name), Files.readString(SCHEMA));
        return address(name);
    }

    /** Starts the server and waits until it answers. */
    void start() throws Exception {
        // The server ends with this process, however this ends: then the shell's stdin is closed. It is told again and
        // again because it does not listen yet in its first moments.
        String script = "exec 3<&0; \"$@\" 3<&- </dev/null >\"$0\" 2>&1 & server=$!;"
                + " (cat <&3; while kill -QUIT $server; do sleep 0.1; done) >/dev/null 2>&1 & wait $server";
        List<String> server = command(asUser, programs.resolve("postgres").toString(), "-D", data().toString(),
                "-p", Integer.toString(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
                "-c", "fsync=off", "-c", "max_connections=" + MAX_CONNECTIONS, "-c", "shared_buffers=16MB");
        List<String> command = new ArrayList<>(List.of("sh", "-c", script, folder.resolve("log").toString()));
        command.addAll(server);
        for (int attempt = 0; attempt < 100; attempt++) {
            guard = new ProcessBuilder(command).directory(folder.toFile()).start();
            if (answers()) {
                return;
            }
            stopGuard(); // what a killed server left in shared memory may still be there
        }
        throw new IllegalStateException("postgres did not start: " + Files.readString(folder.resolve("log")));
    }

    /** Ends the server at once, as the kernel would when memory is out. */
    void kill() throws Exception {
        long server = Long.parseLong(Files.readAllLines(data().resolve("postmaster.pid")).getFirst());
        ProcessHandle.of(server).ifPresent(ProcessHandle::destroyForcibly);
        stopGuard();
    }

    /**
     * Leaves no room to grow: the table of transactions becomes the largest file by far, and no process of the server may
     * write beyond that size. As on a full disk a file cannot be extended; those of the journal are smaller and go on.
     */
    void full(DatabaseAddress database, int from, int to) throws Exception {
        execute(database, "INSERT INTO transaction (from_client_id, to_client_id, amount) SELECT " + from + ", " + to
                + ", 1 FROM generate_series(1, 40000)");
        long size = number(database, "SELECT pg_relation_size('transaction')");
        if (size <= 1 << 20) {
            throw new IllegalStateException("a table of " + size + " bytes is no larger than a file of the journal");
        }
        largestFile(Long.toString(size));
    }

    /** Limits the size of the files that the server writes to; {@code unlimited} ends that. */
    void largestFile(String size) throws Exception {
        ProcessHandle server = ProcessHandle.of(Long.parseLong(
                Files.readAllLines(data().resolve("postmaster.pid")).getFirst())).orElseThrow();
        if (!limit(server, size)) { // first of all: later ones inherit it
            throw new IllegalStateException("prlimit (of util-linux) does not limit the server");
        }
        for (ProcessHandle child : server.children().toList()) {
            if (!limit(child, size) && child.isAlive()) {
                throw new IllegalStateException("prlimit (of util-linux) does not limit process " + child.pid());
            }
        }
    }

    /** As the server's own user: not every root may do it to others. */
    private boolean limit(ProcessHandle process, String size) throws Exception {
        return new ProcessBuilder(command(asUser, "prlimit", "--pid", Long.toString(process.pid()), "--fsize=" + size + ":"))
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor() == 0;
    }

    /** The only value of a query's only row. */
    static long number(DatabaseAddress database, String query) throws SQLException {
        try (Connection connection = connect(database);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    static void execute(DatabaseAddress database, String statements) throws SQLException {
        try (Connection connection = connect(database); Statement statement = connection.createStatement()) {
            statement.execute(statements);
        }
    }

    static Connection connect(DatabaseAddress database) throws SQLException {
        return DriverManager.getConnection(database.jdbcUrl(), database.user(), database.password());
    }

    /** How many connections the service has to its database, as the server sees it. */
    static long backends(DatabaseAddress database) throws SQLException {
        return number(database, "SELECT count(*) FROM pg_stat_activity"
                + " WHERE application_name = 'java-spring' AND datname = '" + database.database() + "'");
    }

    private DatabaseAddress address(String database) {
        return new DatabaseAddress("127.0.0.1", port, USER, password, database);
    }

    private boolean answers() throws InterruptedException {
        while (guard.isAlive()) {
            try {
                execute(address(USER), "SELECT 1");
                return true;
            } catch (SQLException notYet) {
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }
        return false;
    }

    private void stopGuard() throws InterruptedException {
        try {
            guard.getOutputStream().close();
        } catch (IOException gone) {
            // It ends either way.
        }
        guard.waitFor();
    }

    private void discard() {
        try {
            stopGuard();
            try (Stream<Path> files = Files.walk(folder)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        } catch (IOException | InterruptedException unfinished) {
            System.err.println("left behind: " + folder + ": " + unfinished);
        }
    }

    private Path data() {
        return folder.resolve("data");
    }

    private static List<String> command(List<String> before, String... words) {
        List<String> command = new ArrayList<>(before);
        command.addAll(List.of(words));
        return command;
    }

    private static void give(Path file) throws IOException {
        Files.getFileAttributeView(file, PosixFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                .setOwner(file.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName(USER));
    }

    /** Where {@code initdb} and {@code postgres} are: on the path, or where Debian puts them. */
    private static Path programs() throws IOException {
        List<Path> folders = new ArrayList<>();
        for (String folder : System.getenv("PATH").split(":")) {
            folders.add(Path.of(folder));
        }
        Path debian = Path.of("/usr/lib/postgresql");
        if (Files.isDirectory(debian)) {
            try (Stream<Path> versions = Files.list(debian)) {
                versions.map(version -> version.resolve("bin")).forEach(folders::add);
            }
        }
        return folders.stream()
                .filter(folder -> Files.isExecutable(folder.resolve("initdb")))
                .filter(folder -> Files.isExecutable(folder.resolve("postgres")))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(
                        "PostgreSQL is missing: initdb and postgres are neither on the path nor in " + debian));
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException none) {
            throw new UncheckedIOException(none);
        }
    }
}
