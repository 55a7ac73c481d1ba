// SPDX-License-Identifier: Apache-2.0

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Jackson: records and beans by reflection and annotations, trees, errors. */
public class Json {
    enum Kind { PUMP, VALVE }

    record Part(String name, Kind kind, @JsonProperty("load-kg") BigDecimal load, int[] ports) {
    }

    public static class Plant {
        public String site;
        private List<Part> parts;
        private Map<String, Double> limits = new TreeMap<>();

        public List<Part> getParts() {
            return parts;
        }

        public void setParts(List<Part> parts) {
            this.parts = parts;
        }

        public Map<String, Double> getLimits() {
            return limits;
        }
    }

    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        String text = """
            {"site": "north \\u00e9\\n", "parts": [{"name": "p1", "kind": "PUMP", "load-kg": 12.50, "ports": [1, 2]},
             {"name": "v7", "kind": "VALVE", "load-kg": 0.1, "ports": []}], "limits": {"b": 1e3, "a": -0.5}}""";
        Plant plant = mapper.readValue(text, Plant.class);
        plant.setParts(plant.getParts().stream().filter(part -> part.kind() != null).toList());
        System.out.println(mapper.writeValueAsString(plant));
        ObjectNode tree = (ObjectNode) mapper.readTree(text);
        long sum = 0;
        for (JsonNode part : tree.withArray("parts")) {
            for (JsonNode port : part.get("ports")) {
                sum += port.asLong();
            }
        }
        tree.put("sum", sum).remove("parts");
        System.out.println(tree);
        for (String bad : new String[] {"{\"site\": }", "{\"parts\": 5}", "{\"none\": 1}"}) {
            try {
                mapper.readValue(bad, Plant.class);
            } catch (JsonProcessingException e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getOriginalMessage());
            }
        }
    }
}
