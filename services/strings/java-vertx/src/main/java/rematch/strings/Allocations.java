// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import com.sun.management.ThreadMXBean;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.lang.management.ManagementFactory;

/**
 * The bytes that all threads have allocated, among the metrics. The JVM counts them to the byte; what its pools tell of
 * allocations moves with a collection only, of which a short load sees few.
 */
final class Allocations {

    private Allocations() {
    }

    /** Asks the JVM when somebody asks for the metrics, and never before: that wakes JMX. */
    static void register(PrometheusRegistry registry) {
        CounterWithCallback.builder()
                .name("jvm_threads_allocated_bytes_total")
                .help("Bytes that all threads have allocated on the heap, ended ones included.")
                .callback(Allocations::tell)
                .register(registry);
    }

    private static void tell(CounterWithCallback.Callback counter) {
        if (ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads) {
            try {
                counter.call(threads.getTotalThreadAllocatedBytes());
            } catch (UnsupportedOperationException uncounted) {
                // Not every virtual machine counts: then the metric has no value.
            }
        }
    }
}
