// SPDX-License-Identifier: Apache-2.0
package rematch.strings;

import java.io.IOException;
import java.io.InputStream;

/** Reads request bodies, and never more of them than the contract allows. */
final class Body {

    static final int LIMIT_BYTES = 65_536;

    /** How much of a refused body is read and dropped, so that who writes before reading still sees the answer. */
    private static final int DISCARD_BYTES = 1 << 20;

    private Body() {
    }

    /**
     * Reads a body to its end.
     *
     * @param declaredBytes the Content-Length, or -1 when the body is chunked
     */
    static byte[] read(InputStream in, long declaredBytes) throws Refusal.Refused {
        if (declaredBytes > LIMIT_BYTES) {
            throw new Refusal.Refused(Refusal.BODY_TOO_LARGE);
        }
        try {
            // A declared length gives one array of the right size; otherwise one byte too many tells of more.
            byte[] body = in.readNBytes(declaredBytes >= 0 ? (int) declaredBytes : LIMIT_BYTES + 1);
            if (body.length > LIMIT_BYTES) {
                throw new Refusal.Refused(Refusal.BODY_TOO_LARGE);
            }
            return body;
        } catch (IOException brokenOff) {
            throw new Refusal.Refused(Refusal.INVALID_JSON); // bad chunks, or a peer that is gone
        }
    }

    /** Drops what is left of a body that nobody wants, within reason; call it when the answer is on its way. */
    static void discard(InputStream in) throws IOException {
        byte[] scratch = new byte[8_192];
        int left = DISCARD_BYTES;
        while (left > 0) {
            int read = in.read(scratch, 0, Math.min(scratch.length, left));
            if (read < 0) {
                return;
            }
            left -= read;
        }
    }
}
