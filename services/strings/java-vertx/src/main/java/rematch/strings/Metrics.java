// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.instrumentation.jvm.JvmMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** The contract's counter and histogram beside the runtime's own metrics. */
final class Metrics {

    static final String CONTENT_TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

    private static final double[] UPPER_BOUNDS_S =
            {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5};
    private static final double NS_PER_S = 1e9;
    private static final int STATUSES = 600;

    private final PrometheusRegistry registry = new PrometheusRegistry();
    private final AtomicBoolean runtimeRegistered = new AtomicBoolean();
    private final Counter requests = Counter.builder()
            .name("http_requests_total")
            .help("Requests answered.")
            .labelNames("path", "status")
            .withoutExemplars()
            .register(registry);
    private final DistributionDataPoint[] durations = new DistributionDataPoint[Route.values().length];

    /** Children by route and status, looked up by label once: the lookup costs more than the increment. */
    private final AtomicReferenceArray<CounterDataPoint> counters =
            new AtomicReferenceArray<>(Route.values().length * STATUSES);

    Metrics() {
        Histogram histogram = Histogram.builder()
                .name("http_request_duration_seconds")
                .help("Time from the first line of the handler until the answer is made, before it is sent.")
                .labelNames("path")
                .classicOnly()
                .classicUpperBounds(UPPER_BOUNDS_S)
                .withoutExemplars()
                .register(registry);
        for (Route route : Route.values()) {
            durations[route.ordinal()] = histogram.labelValues(route.path());
        }
    }

    /** Where a face registers metrics of its own. */
    PrometheusRegistry registry() {
        return registry;
    }

    void request(Route route, int status, long tookNs) {
        int index = route.ordinal() * STATUSES + status;
        CounterDataPoint counter = counters.getPlain(index);
        if (counter == null) {
            counter = requests.labelValues(route.path(), Integer.toString(status));
            counters.set(index, counter);
        }
        counter.inc();
        durations[route.ordinal()].observe(tookNs / NS_PER_S);
    }

    /** Everything in Prometheus text format 0.0.4; the runtime's own metrics join at the first call. */
    byte[] text() throws IOException {
        registerRuntime();
        ByteArrayOutputStream out = new ByteArrayOutputStream(16 * 1024);
        PrometheusTextFormatWriter.create().write(out, registry.scrape());
        return out.toByteArray();
    }

    /** Late, because JMX takes longer to wake than all the rest of the service takes to start. */
    private void registerRuntime() {
        if (runtimeRegistered.compareAndSet(false, true)) {
            JvmMetrics.builder().register(registry);
        }
    }
}
