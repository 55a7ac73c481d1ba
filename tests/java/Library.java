// SPDX-License-Identifier: Apache-2.0
import java.util.*;

/** The collections that everything uses. */
public class Library {
    public static void main(String[] args) {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            map.merge("key" + i * 7 % 500, i, Integer::sum);
        }
        long sum = 0;
        for (Map.Entry<String, Integer> entry : map.entrySet()) {
            sum += entry.getKey().hashCode() * 31L + entry.getValue();
        }
        System.out.println(map.size() + " " + sum);
        List<Integer> list = new ArrayList<>();
        Random random = new Random(42);
        for (int i = 0; i < 3000; i++) {
            list.add(random.nextInt(1000));
        }
        Collections.sort(list);
        System.out.println(list.get(0) + " " + list.get(1500) + " " + list.get(2999) + " " + Collections.binarySearch(list, 500) + " " + list.hashCode());
        Deque<Integer> deque = new ArrayDeque<>();
        LinkedList<String> linked = new LinkedList<>();
        PriorityQueue<Integer> queue = new PriorityQueue<>(Comparator.reverseOrder());
        for (int i = 0; i < 20; i++) {
            deque.addFirst(i);
            deque.addLast(-i);
            linked.add(i / 2, "n" + i);
            queue.add(i * 13 % 20);
        }
        System.out.println(deque + "\n" + linked + "\n" + queue.poll() + queue.poll() + queue.size());
        TreeMap<Integer, String> tree = new TreeMap<>();
        for (int i = 0; i < 50; i++) {
            tree.put(i * 37 % 50, "v" + i);
        }
        System.out.println(tree.headMap(5) + " " + tree.ceilingKey(20) + " " + tree.descendingMap().firstKey() + " " + tree.subMap(10, 13));
        Set<String> set = new LinkedHashSet<>(List.of("z", "a", "m"));
        set.add("a");
        System.out.println(set + " " + new TreeSet<>(set) + " " + set.contains("q"));
        int[] ints = random.ints(500, 0, 10_000).toArray();
        Arrays.sort(ints);
        System.out.println(Arrays.hashCode(ints) + " " + Arrays.stream(ints).sum());
        BitSet bits = new BitSet();
        for (int i = 2; i < 100; i++) {
            bits.set(i);
        }
        for (int i = 2; i < 10; i++) {
            for (int j = i * i; j < 100; j += i) {
                bits.clear(j);
            }
        }
        System.out.println(bits);
        EnumMap<Thread.State, Integer> states = new EnumMap<>(Thread.State.class);
        states.put(Thread.State.WAITING, 1);
        states.put(Thread.State.NEW, 0);
        System.out.println(states + " " + EnumSet.complementOf(EnumSet.copyOf(states.keySet())));
        try {
            for (Integer each : list) {
                list.remove(each);
            }
        } catch (ConcurrentModificationException e) {
            System.out.println(e);
        }
        long[][] grid = new long[20][30];
        for (int i = 0; i < 20; i++) {
            for (int j = 0; j < 30; j++) {
                grid[i][j] = (long) i * j + (i > 0 && j > 0 ? grid[i - 1][j - 1] : 0);
            }
        }
        System.out.println(Arrays.deepToString(grid).hashCode() + " " + grid[19][29]);
    }
}
