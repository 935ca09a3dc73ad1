// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import org.springframework.http.HttpHeaders;

/**
 * An answer that is not sent before the request is over. Spring's JSON converter flushes what it has written, and Tomcat
 * would then send chunks; without the flush, Tomcat finds the whole answer in its buffer and knows its length. Nothing
 * is copied. Nor is Tomcat told the length beforehand: it sends an answer as soon as the length it was told is written.
 * What does not fit into the buffer (8 KiB: no answer of the workload) goes out in chunks all the same.
 */
final class HeldAnswer extends HttpServletResponseWrapper {

    private Counted out;

    HeldAnswer(HttpServletResponse response) {
        super(response);
    }

    /** Bytes of the body so far. */
    int bytesWritten() {
        return out == null ? 0 : out.written;
    }

    /**
     * Hands the whole answer to the connection. Tomcat would after it has taken the servlet back, and a graceful stop waits
     * for servlets alone: it could close the connection in between.
     */
    void finish() {
        try {
            if (out != null) {
                out.buffer.close();
            }
        } catch (IOException gone) {
            // The peer does not wait for the answer.
        }
    }

    @Override
    public ServletOutputStream getOutputStream() throws IOException {
        if (out == null) {
            out = new Counted(super.getOutputStream());
        }
        return out;
    }

    @Override
    public void flushBuffer() {
        // Tomcat does, when the request is over.
    }

    @Override
    public void setContentLength(int length) {
        // Tomcat counts, when the request is over.
    }

    @Override
    public void setContentLengthLong(long length) {
        // Tomcat counts, when the request is over.
    }

    @Override
    public void setHeader(String name, String value) {
        if (!HttpHeaders.CONTENT_LENGTH.equalsIgnoreCase(name)) {
            super.setHeader(name, value);
        }
    }

    @Override
    public void addHeader(String name, String value) {
        if (!HttpHeaders.CONTENT_LENGTH.equalsIgnoreCase(name)) {
            super.addHeader(name, value);
        }
    }

    private static final class Counted extends ServletOutputStream {

        private final ServletOutputStream buffer;
        private int written;

        Counted(ServletOutputStream buffer) {
            this.buffer = buffer;
        }

        @Override
        public void write(int b) throws IOException {
            buffer.write(b);
            written++;
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            buffer.write(bytes, from, length);
            written += length;
        }

        @Override
        public void flush() {
            // Tomcat does, when the request is over.
        }

        @Override
        public void close() {
            // Tomcat does, when the request is over.
        }

        @Override
        public boolean isReady() {
            return buffer.isReady();
        }

        @Override
        public void setWriteListener(WriteListener listener) {
            buffer.setWriteListener(listener);
        }
    }
}
