// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The upstream on a socket of its own, so that it can also do what no HTTP server lets one do. */
final class UpstreamStub implements AutoCloseable {

    private static final String ADDRESS =
            "{\"street\":\"123 Main St\",\"number\":42,\"state\":\"CA\",\"country\":\"USA\"}";

    /** What is done with a request after its head was read; false closes the connection. */
    interface Behaviour {
        boolean answer(String path, OutputStream out) throws IOException, InterruptedException;
    }

    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private final Queue<String> asked = new ConcurrentLinkedQueue<>();
    private final AtomicInteger busy = new AtomicInteger();
    private final AtomicInteger busiest = new AtomicInteger();
    private final int port;
    private volatile Behaviour behaviour = UpstreamStub::right;
    private volatile ServerSocket listener;

    private UpstreamStub(int port) throws IOException {
        this.port = port;
        up();
    }

    static UpstreamStub start() throws IOException {
        return new UpstreamStub(Postgres.freePort());
    }

    String url() {
        return "http://127.0.0.1:" + port;
    }

    void behave(Behaviour wanted) {
        behaviour = wanted;
    }

    /** Answers rightly again. */
    void recover() {
        behaviour = UpstreamStub::right;
    }

    void up() throws IOException {
        ServerSocket socket = new ServerSocket();
        socket.setReuseAddress(true);
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 256);
        listener = socket;
        Thread.ofVirtual().start(() -> accept(socket));
    }

    /** Refuses new connections and resets those that are open. */
    void down() throws IOException {
        listener.close();
        for (Socket connection : connections) {
            try (connection) {
                connection.setSoLinger(true, 0);
            } catch (SocketException closed) {
                // its own thread has just closed it
            }
        }
    }

    int connections() {
        return connections.size();
    }

    /** Requests that are being answered; one ends when its connection does. */
    int busy() {
        return busy.get();
    }

    void forget() {
        busiest.set(0);
    }

    /** The most requests that were being answered at one time since the last {@link #forget}. */
    int busiest() {
        return busiest.get();
    }

    /** The paths asked for since the last call. */
    List<String> asked() {
        List<String> paths = List.copyOf(asked);
        asked.clear();
        return paths;
    }

    @Override
    public void close() throws IOException {
        down();
    }

    static boolean right(String path, OutputStream out) throws IOException {
        int id = Integer.parseInt(path.substring(path.lastIndexOf('/') + 1));
        send(out, 200, path.startsWith("/phones/") ? phones(id) : ADDRESS);
        return true;
    }

    static void send(OutputStream out, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        out.write(("HTTP/1.1 " + status + " Said\r\nContent-Type: application/json\r\nContent-Length: " + bytes.length
                + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        out.write(bytes);
        out.flush();
    }

    /** Any body with status 200 for the phones or the address, and the right answer for the other one. */
    static Behaviour with(String kind, String body) {
        return (path, out) -> {
            if (!path.startsWith("/" + kind + "/")) {
                return right(path, out);
            }
            send(out, 200, body);
            return true;
        };
    }

    static String phones(int id) {
        return IntStream.range(0, 19)
                .mapToObj(i -> "{\"ddd\":" + (11 + (id * 7 + i * 5) % 89) + ",\"number\":"
                        + (900_000_000 + (id * 7_368_787L + i * 1_299_709L) % 100_000_000) + "}")
                .collect(Collectors.joining(",", "[", "]"));
    }

    private void accept(ServerSocket socket) {
        while (true) {
            try {
                Socket connection = socket.accept();
                connection.setTcpNoDelay(true);
                connections.add(connection);
                if (socket.isClosed()) { // it went down after it had accepted: whoever closed the others missed this one
                    connection.close();
                    return;
                }
                Thread.ofVirtual().start(() -> serve(connection));
            } catch (IOException closed) {
                return;
            }
        }
    }

    /** Reads, so that the end of a connection is seen at once, while another thread answers. */
    private void serve(Socket connection) {
        BlockingQueue<String> paths = new LinkedBlockingQueue<>();
        Thread answering = Thread.ofVirtual().start(() -> answer(connection, paths));
        try (connection) {
            BufferedReader in = new BufferedReader(
                    new InputStreamReader(connection.getInputStream(), StandardCharsets.US_ASCII));
            for (String path = head(in); path != null; path = head(in)) {
                asked.add(path);
                paths.add(path);
            }
        } catch (IOException gone) {
            // the service closed the connection, or the test did
        } finally {
            connections.remove(connection);
            answering.interrupt();
        }
    }

    private void answer(Socket connection, BlockingQueue<String> paths) {
        boolean kept = true;
        while (kept) {
            try {
                String path = paths.take();
                busiest.accumulateAndGet(busy.incrementAndGet(), Math::max);
                try {
                    kept = behaviour.answer(path, connection.getOutputStream());
                } finally {
                    busy.decrementAndGet();
                }
                if (!kept) {
                    connection.shutdownOutput();
                    connection.close();
                }
            } catch (IOException | InterruptedException gone) {
                return;
            }
        }
    }

    /** The path of the next request, or null at the end of the connection. */
    private static String head(BufferedReader in) throws IOException {
        String first = in.readLine();
        String line = first;
        while (line != null && !line.isEmpty()) {
            line = in.readLine();
        }
        return first == null ? null : first.split(" ")[1];
    }
}
