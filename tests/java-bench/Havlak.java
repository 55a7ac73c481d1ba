// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Finds the loops of a flow graph, nested ones and irreducible ones, by Havlak's algorithm. */
final class Havlak {
    private static final int NESTS = 12;

    private static final class Node {
        final int id;
        final List<Node> targets = new ArrayList<>();
        final List<Node> sources = new ArrayList<>();

        Node(int id) {
            this.id = id;
        }
    }

    /** A loop; also a node of the union-find forest. */
    private static final class Place {
        Place parent = this;
        final Node node;
        final int number;
        int last;
        int header;
        final List<Place> backSources = new ArrayList<>();
        final Set<Integer> otherSources = new HashSet<>();
        boolean isHeader;
        boolean isIrreducible;

        Place(Node node, int number) {
            this.node = node;
            this.number = number;
        }

        Place find() {
            List<Place> path = new ArrayList<>();
            Place place = this;
            while (place != place.parent) {
                if (place.parent != place.parent.parent) {
                    path.add(place);
                }
                place = place.parent;
            }
            for (Place below : path) {
                below.parent = place;
            }
            return place;
        }

        boolean isAncestorOf(Place other) {
            return number <= other.number && other.number <= last;
        }
    }

    private final Map<Integer, Node> nodes = new HashMap<>();
    private final Map<Node, Place> places = new HashMap<>();
    private final List<Place> order = new ArrayList<>();
    private long sum;

    static long run() {
        Havlak graph = new Havlak();
        graph.build();
        graph.findLoops();
        return graph.sum;
    }

    private Node node(int id) {
        return nodes.computeIfAbsent(id, Node::new);
    }

    private int edge(int from, int to) {
        Node source = node(from);
        Node target = node(to);
        source.targets.add(target);
        target.sources.add(source);
        return to;
    }

    private int straight(int from, int count) {
        for (int i = 0; i < count; i++) {
            edge(from + i, from + i + 1);
        }
        return from + count;
    }

    private int diamond(int from) {
        edge(from, from + 1);
        edge(from, from + 2);
        edge(from + 1, from + 3);
        return edge(from + 2, from + 3);
    }

    private int loop(int from) {
        int header = straight(from, 1);
        int one = diamond(header);
        int left = straight(one, 1);
        int two = diamond(left);
        int bottom = straight(two, 1);
        edge(left, header);
        edge(bottom, from);
        return straight(bottom, 1);
    }

    private void build() {
        int at = straight(0, 2);
        for (int outer = 0; outer < NESTS; outer++) {
            int top = at;
            at = straight(at, 1);
            for (int inner = 0; inner < 5; inner++) {
                int head = at;
                at = loop(straight(at, 1));
                edge(at, head);
                at = straight(at, 1);
            }
            if (outer % 4 == 3) {
                edge(top + 1, at);
                edge(at, top + 3);
            }
            edge(at, top);
            at = straight(at, 1);
        }
    }

    private int number(Node node, int next) {
        Place place = new Place(node, next);
        places.put(node, place);
        order.add(place);
        int last = next;
        for (Node target : node.targets) {
            if (!places.containsKey(target)) {
                last = number(target, last + 1);
            }
        }
        place.last = last;
        return last;
    }

    private void findLoops() {
        number(node(0), 0);
        for (Place place : order) {
            for (Node source : place.node.sources) {
                Place from = places.get(source);
                if (from == null) {
                    continue;
                }
                if (place.isAncestorOf(from)) {
                    place.backSources.add(from);
                } else {
                    place.otherSources.add(from.number);
                }
            }
        }
        for (int number = order.size() - 1; number >= 0; number--) {
            collect(order.get(number));
        }
    }

    private void collect(Place head) {
        Set<Place> body = new HashSet<>();
        List<Place> work = new ArrayList<>();
        for (Place back : head.backSources) {
            if (back != head) {
                Place found = back.find();
                if (body.add(found)) {
                    work.add(found);
                }
            }
            head.isHeader = true;
        }
        for (int next = 0; next < work.size(); next++) {
            for (int source : work.get(next).otherSources) {
                Place found = order.get(source).find();
                if (!head.isAncestorOf(found)) {
                    head.isIrreducible = true;
                    head.otherSources.add(found.number);
                } else if (found != head && body.add(found)) {
                    work.add(found);
                }
            }
        }
        for (Place place : body) {
            place.header = head.number;
            place.parent = head;
        }
        if (head.isHeader) {
            sum = sum * 31 + head.number * 1000L + body.size() * 2 + (head.isIrreducible ? 1 : 0);
        }
    }
}
