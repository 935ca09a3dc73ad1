// SPDX-License-Identifier: Apache-2.0
package rematch.bank;

import java.sql.SQLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.dao.DataAccessException;
import org.springframework.http.ResponseEntity;
import org.springframework.transaction.TransactionException;
import org.springframework.web.ErrorResponse;
import org.springframework.web.HttpRequestMethodNotSupportedException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.method.annotation.MethodArgumentTypeMismatchException;
import org.springframework.web.servlet.NoHandlerFoundException;
import org.springframework.web.servlet.resource.NoResourceFoundException;

/** Turns what went wrong into an answer; the caller is told a code and nothing else. */
@RestControllerAdvice
final class Failures {

    private static final Logger LOG = LoggerFactory.getLogger(Failures.class);

    private final boolean lean;

    Failures(Settings settings) {
        lean = settings.lean();
    }

    @ExceptionHandler
    ResponseEntity<byte[]> refused(Refused refused) {
        return refused.refusal().answer();
    }

    /** What the database said goes to stderr, in one line: in a storm of errors a stack trace each would be another. */
    @ExceptionHandler({DataAccessException.class, TransactionException.class, SQLException.class})
    ResponseEntity<byte[]> database(Exception failed) {
        LOG.warn("database: {}", NestedExceptionUtils.getMostSpecificCause(failed).getMessage());
        return Refusal.DATABASE_UNAVAILABLE.answer();
    }

    /** In the matched face {@link Gate} has refused these before. */
    @ExceptionHandler({NoHandlerFoundException.class, NoResourceFoundException.class})
    ResponseEntity<byte[]> unknownPath() {
        return Refusal.NOT_FOUND.answer();
    }

    @ExceptionHandler
    ResponseEntity<byte[]> unknownMethod(HttpRequestMethodNotSupportedException refused) {
        return lean ? Refusal.NOT_FOUND.answer() : Refusal.METHOD_NOT_ALLOWED.answer();
    }

    @ExceptionHandler
    ResponseEntity<byte[]> unreadable(MethodArgumentTypeMismatchException refused) {
        return Refusal.BAD_REQUEST.answer();
    }

    @ExceptionHandler
    ResponseEntity<byte[]> defect(Throwable defect) {
        if (defect instanceof ErrorResponse refused && refused.getStatusCode().is4xxClientError()) {
            return Refusal.BAD_REQUEST.answer();
        }
        LOG.error("defect", defect);
        return Refusal.INTERNAL.answer();
    }
}
