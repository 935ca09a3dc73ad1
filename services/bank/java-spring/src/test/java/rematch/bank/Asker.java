// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;

/** Asks a service over HTTP. */
record Asker(HttpClient http, int port) implements AutoCloseable {

    Asker(int port) {
        this(HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build(), port);
    }

    HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return send("GET", path, BodyPublishers.noBody(), Map.of());
    }

    HttpResponse<String> post(String path, String body) throws IOException, InterruptedException {
        return send("POST", path, BodyPublishers.ofString(body), Map.of());
    }

    HttpResponse<String> send(String method, String path, BodyPublisher body, Map<String, String> headers)
            throws IOException, InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).method(method, body);
        headers.forEach(request::header);
        return http.send(request.build(), BodyHandlers.ofString());
    }

    /** Makes a client and returns its id. */
    int open(int balance) throws IOException, InterruptedException {
        HttpResponse<String> answer = post("/client/new/" + balance, "");
        if (answer.statusCode() != 200) {
            throw new IOException(answer.statusCode() + " " + answer.body());
        }
        return Integer.parseInt(answer.body().replaceAll("^\\{\"id\":([0-9]+),.*", "$1"));
    }

    int transfer(int from, int to, int amount) throws IOException, InterruptedException {
        return post("/transaction", "{\"from_client_id\":" + from + ",\"to_client_id\":" + to
                + ",\"amount\":" + amount + "}").statusCode();
    }

    @Override
    public void close() {
        http.close();
    }
}
