// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.coyote.Processor;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SocketWrapperBase;

/**
 * HTTP/1.1 with a limit to how long the head of a request may take. Tomcat's own {@code connection-timeout} bounds the
 * silence between two of its bytes, so that a head that drips in would never end; here it bounds the whole head.
 */
public final class HeadLimit extends Http11NioProtocol {

    @Override
    protected Processor createProcessor() {
        return new Http11Processor(this, getAdapter()) {

            /** When the first part of a head came that is not whole yet; 0: there is none. */
            private long begunNs;

            @Override
            public SocketState service(SocketWrapperBase<?> socket) throws IOException {
                if (begunNs == 0) {
                    begunNs = System.nanoTime();
                }
                SocketState state = super.service(socket);
                if (state != SocketState.LONG || isAsync()) { // a whole head was served, or the connection is over
                    begunNs = 0;
                    return state;
                }
                long leftMs = getConnectionTimeout() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begunNs);
                if (leftMs <= 0) {
                    begunNs = 0;
                    return SocketState.CLOSED;
                }
                socket.setReadTimeout(leftMs);
                return state;
            }
        };
    }
}
