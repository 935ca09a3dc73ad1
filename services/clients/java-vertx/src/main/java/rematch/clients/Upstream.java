// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.json.jackson.JacksonCodec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Supplier;

/** The other service, over one pool of kept connections that all verticles share. */
final class Upstream {

    record Phone(int ddd, int number) {
    }

    record Address(String street, int number, String state, String country) {
    }

    /** A whole HTTP answer that is not the one asked for. */
    static final class BadAnswer extends Exception {
        private static final long serialVersionUID = 1L;

        BadAnswer(String message) {
            super(message, null, false, false); // a fault of somebody else, and an ordinary one
        }
    }

    private static final int LIMIT_BYTES = 65_536;
    private static final int OK = 200;

    private final Vertx vertx;
    private final HttpClient http;
    private final RequestOptions where;
    private final int timeoutMs;
    private final boolean parallel;
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger inUse = new AtomicInteger();

    Upstream(Vertx vertx, Settings settings) {
        this.vertx = vertx;
        this.timeoutMs = settings.upstreamTimeoutMs();
        this.parallel = settings.calls() == Settings.Calls.PARALLEL;
        this.where = new RequestOptions()
                .setMethod(HttpMethod.GET)
                // With a connect timeout Vert.x 5.0 forgets connections that were opened for requests it gave up.
                .setAbsoluteURI(settings.surroundings().upstreamUrl());
        this.http = vertx.httpClientBuilder()
                .with(new HttpClientOptions()
                        .setKeepAlive(true)
                        .setPipelining(false)
                        .setTcpNoDelay(true)
                        .setConnectTimeout(timeoutMs))
                .with(new PoolOptions().setHttp1MaxSize(settings.upstreamConnections()))
                .withConnectHandler(connection -> {
                    open.incrementAndGet();
                    connection.exceptionHandler(told -> { }); // the call that it fails is told, too
                    connection.closeHandler(closed -> open.decrementAndGet());
                })
                .build();
    }

    /** Makes both calls, one after the other or at once, whichever was asked for. */
    <P, A, T> Future<T> both(Supplier<Future<P>> phones, Supplier<Future<A>> address, BiFunction<P, A, T> answer) {
        if (!parallel) {
            return phones.get().compose(first -> address.get().map(second -> answer.apply(first, second)));
        }
        Future<P> first = phones.get();
        Future<A> second = address.get();
        return Future.all(first, second).map(done -> answer.apply(first.result(), second.result()));
    }

    Future<List<Phone>> phones(int id) {
        return get("/phones/" + id).compose(body -> {
            if (!(Json.decodeValue(body) instanceof JsonArray array)) {
                return Future.failedFuture(new BadAnswer("phones that are no array"));
            }
            List<Phone> phones = new ArrayList<>(array.size());
            for (int i = 0; i < array.size(); i++) {
                if (!(array.getValue(i) instanceof JsonObject phone)) {
                    return Future.failedFuture(new BadAnswer("a phone that is no object"));
                }
                if (!(phone.getValue("ddd") instanceof Integer ddd)
                        || !(phone.getValue("number") instanceof Integer number)) {
                    return Future.failedFuture(new BadAnswer("a phone of another shape"));
                }
                phones.add(new Phone(ddd, number));
            }
            return Future.succeededFuture(phones);
        });
    }

    Future<Address> address(int id) {
        return get("/address/" + id).compose(body ->
                Json.decodeValue(body) instanceof JsonObject address
                        && address.getValue("street") instanceof String street
                        && address.getValue("number") instanceof Integer number
                        && address.getValue("state") instanceof String state
                        && address.getValue("country") instanceof String country
                        ? Future.succeededFuture(new Address(street, number, state, country))
                        : Future.failedFuture(new BadAnswer("an address of another shape")));
    }

    /** The tuned craft's phones. */
    <T> Future<T> phones(int id, Tokens.Shape<T> shape) {
        return get("/phones/" + id).compose(body -> read(body, shape));
    }

    /** The tuned craft's address. */
    <T> Future<T> address(int id, Tokens.Shape<T> shape) {
        return get("/address/" + id).compose(body -> read(body, shape));
    }

    private static <T> Future<T> read(Buffer body, Tokens.Shape<T> shape) {
        try {
            return Future.succeededFuture(shape.read(JacksonCodec.createParser(body)));
        } catch (IOException another) {
            return Future.failedFuture(another);
        }
    }

    int connectionsInUse() {
        return Math.min(inUse.get(), open.get());
    }

    int connectionsIdle() {
        return open.get() - connectionsInUse();
    }

    private Future<Buffer> get(String path) {
        Call call = new Call();
        http.request(new RequestOptions(where).setURI(path))
                .compose(call::send)
                .onSuccess(call::read)
                .onFailure(call::fail);
        return call.answer.future();
    }

    /** One request and answer within the time allowed; all of it happens on the caller's event loop. */
    private final class Call {

        private final Promise<Buffer> answer = Promise.promise();
        private final long deadline = vertx.setTimer(timeoutMs, late -> expire());
        private final Buffer body = Buffer.buffer();
        private HttpClientRequest request;
        private boolean over;

        private Future<HttpClientResponse> send(HttpClientRequest connected) {
            request = connected;
            request.exceptionHandler(this::fail);
            inUse.incrementAndGet();
            answer.future().onComplete(done -> inUse.decrementAndGet());
            if (over) {
                request.reset(); // it came too late, and its connection goes back unused
                return Future.failedFuture(new TimeoutException());
            }
            return request.send();
        }

        private void read(HttpClientResponse response) {
            response.exceptionHandler(this::fail);
            response.handler(part -> {
                if (body.length() + part.length() <= LIMIT_BYTES) {
                    body.appendBuffer(part);
                } else {
                    giveUp(new BadAnswer("more than " + LIMIT_BYTES + " bytes"));
                }
            });
            response.endHandler(end -> {
                if (over) {
                    return; // given up, and not told yet
                }
                if (response.statusCode() == OK) {
                    vertx.cancelTimer(deadline);
                    answer.tryComplete(body);
                } else {
                    fail(new BadAnswer("status " + response.statusCode()));
                }
            });
        }

        private void fail(Throwable why) {
            vertx.cancelTimer(deadline);
            if (!over) {
                answer.tryFail(why);
            }
        }

        private void expire() {
            giveUp(new TimeoutException("no whole answer within " + timeoutMs + " ms"));
        }

        /** Fails the call once its connection, on which an answer may still come, can be lent to nobody. */
        private void giveUp(Throwable why) {
            if (over || answer.future().isComplete()) {
                return;
            }
            vertx.cancelTimer(deadline);
            over = true;
            if (request == null) {
                answer.tryFail(why);
            } else {
                // Closes the connection, unless the whole answer has come by now: then it may serve another call.
                request.reset().onComplete(done -> answer.tryFail(why));
            }
        }
    }
}
