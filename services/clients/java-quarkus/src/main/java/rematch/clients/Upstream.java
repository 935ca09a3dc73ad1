// SPDX-License-Identifier: Apache-2.0
package rematch.clients;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.cfg.CoercionAction;
import com.fasterxml.jackson.databind.cfg.CoercionInputShape;
import com.fasterxml.jackson.databind.type.LogicalType;
import io.quarkus.rest.client.reactive.jackson.ClientObjectMapper;
import io.smallrye.mutiny.Uni;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import java.util.List;
import org.eclipse.microprofile.rest.client.annotation.RegisterProvider;
import org.eclipse.microprofile.rest.client.inject.RegisterRestClient;

/** The other service. */
@RegisterRestClient(configKey = "upstream")
@RegisterProvider(WholeAnswers.class)
@Path("/")
public interface Upstream {

    /** Both are always there: {@link #strict} refuses anything else. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Phone(@JsonProperty(required = true) int ddd, @JsonProperty(required = true) int number) {
    }

    /** All are always there: {@link #strict} refuses anything else. */
    @JsonIgnoreProperties(ignoreUnknown = true)
    record Address(@JsonProperty(required = true) String street, @JsonProperty(required = true) int number,
            @JsonProperty(required = true) String state, @JsonProperty(required = true) String country) {
    }

    @GET
    @Path("phones/{id}")
    Uni<List<Phone>> phones(@PathParam("id") int id);

    @GET
    @Path("address/{id}")
    Uni<Address> address(@PathParam("id") int id);

    /** The same for the tuned craft, which reads the bytes by {@link Tokens}. */
    @GET
    @Path("phones/{id}")
    Uni<byte[]> bytesOfPhones(@PathParam("id") int id);

    @GET
    @Path("address/{id}")
    Uni<byte[]> bytesOfAddress(@PathParam("id") int id);

    /** Jackson forgives by default what the contract calls another shape. */
    @ClientObjectMapper
    static ObjectMapper strict(ObjectMapper forgiving) {
        ObjectMapper strict = forgiving.copy()
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT);
        for (CoercionInputShape shape : List.of(CoercionInputShape.Integer, CoercionInputShape.Float,
                CoercionInputShape.Boolean)) {
            strict.coercionConfigFor(LogicalType.Textual).setCoercion(shape, CoercionAction.Fail);
        }
        for (CoercionInputShape shape : List.of(CoercionInputShape.String, CoercionInputShape.EmptyString,
                CoercionInputShape.Boolean, CoercionInputShape.Float)) {
            strict.coercionConfigFor(LogicalType.Integer).setCoercion(shape, CoercionAction.Fail);
        }
        for (LogicalType type : List.of(LogicalType.POJO, LogicalType.Collection)) {
            strict.coercionConfigFor(type).setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail);
        }
        return strict;
    }
}
