// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * What Helidon 2 kept of every request by itself: a counter, and a meter whose rates over 1, 5 and 15 minutes are moving
 * averages that move every five seconds.
 */
final class RequestMeter {

    private static final long TICK_NS = 5_000_000_000L;
    private static final double NS_PER_S = 1e9;

    /** The rate over some minutes; requests since the last tick wait in a sum that threads do not contend for. */
    private static final class Rate {

        private final LongAdder waiting = new LongAdder();
        private final double weight;
        private volatile double perNs;
        private volatile boolean begun;

        Rate(int minutes) {
            weight = 1 - Math.exp(-TICK_NS / NS_PER_S / 60 / minutes);
        }

        synchronized void tick() {
            double now = (double) waiting.sumThenReset() / TICK_NS;
            perNs = begun ? perNs + weight * (now - perNs) : now;
            begun = true;
        }
    }

    private final Counter requests;
    private final LongAdder marks = new LongAdder();
    private final Rate[] rates = {new Rate(1), new Rate(5), new Rate(15)};
    private final long startedNs = System.nanoTime();
    private final AtomicLong lastTickNs = new AtomicLong(startedNs);

    RequestMeter(PrometheusRegistry registry) {
        requests = Counter.builder()
                .name("vendor_requests_count")
                .help("Requests.")
                .withoutExemplars()
                .register(registry);
        CounterWithCallback.builder()
                .name("vendor_requests_meter")
                .help("Requests.")
                .callback(told -> told.call(marks.sum()))
                .register(registry);
        gauge(registry, "rate", null);
        gauge(registry, "one_min_rate", rates[0]);
        gauge(registry, "five_min_rate", rates[1]);
        gauge(registry, "fifteen_min_rate", rates[2]);
    }

    void mark() {
        requests.inc();
        tick();
        marks.increment();
        for (Rate rate : rates) {
            rate.waiting.increment();
        }
    }

    /** Catches up on all ticks that are due; one thread does it for all. */
    private void tick() {
        long last = lastTickNs.get();
        long age = System.nanoTime() - last;
        if (age > TICK_NS && lastTickNs.compareAndSet(last, last + age - age % TICK_NS)) {
            for (long due = age / TICK_NS; due > 0; due--) {
                for (Rate rate : rates) {
                    rate.tick();
                }
            }
        }
    }

    /** {@code rate} null: the mean since the start. */
    private void gauge(PrometheusRegistry registry, String name, Rate rate) {
        GaugeWithCallback.builder()
                .name("vendor_requests_meter_" + name + "_per_second")
                .help("Requests per second.")
                .callback(told -> {
                    tick();
                    double perNs = rate == null ? (double) marks.sum() / (System.nanoTime() - startedNs) : rate.perNs;
                    told.call(perNs * NS_PER_S);
                })
                .register(registry);
    }
}
