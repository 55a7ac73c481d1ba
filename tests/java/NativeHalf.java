// SPDX-License-Identifier: Apache-2.0
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import java.util.zip.*;

/** The library's native half: files, channels, compression, digests, time, serialisation. */
public class NativeHalf {
    public static void main(String[] args) throws Exception {
        Path file = Files.createTempFile("takt", ".txt");
        Files.writeString(file, "first\nsecond\nthird\n");
        System.out.println(Files.readAllLines(file) + " " + Files.size(file));
        try (RandomAccessFile random = new RandomAccessFile(file.toFile(), "rw")) {
            random.seek(6);
            System.out.println(random.readLine() + " " + random.length());
            ByteBuffer buffer = ByteBuffer.allocateDirect(16);
            random.getChannel().read(buffer, 0);
            System.out.println(buffer.position() + " " + (char) buffer.get(0) + " " + buffer.isDirect());
        }
        try (BufferedReader reader = new BufferedReader(new FileReader(file.toFile()))) {
            System.out.println(reader.lines().count());
        }
        Files.delete(file);
        System.out.println(Files.exists(file));
        try {
            new FileInputStream("/no/such/file");
        } catch (FileNotFoundException e) {
            System.out.println(e.getMessage());
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream zip = new GZIPOutputStream(bytes)) {
            zip.write("compress me ".repeat(100).getBytes());
        }
        try (GZIPInputStream zip = new GZIPInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            System.out.println(zip.readAllBytes().length);
        }
        CRC32 crc = new CRC32();
        crc.update("takt".getBytes());
        System.out.println(crc.getValue());
        byte[] digest = java.security.MessageDigest.getInstance("SHA-256").digest("takt".getBytes());
        System.out.println(HexFormat.of().formatHex(digest));
        System.out.println(java.time.LocalDate.of(2024, 2, 28).plusDays(2) + " " + java.time.Duration.ofMinutes(90));
        System.out.println(new java.math.BigInteger("123456789012345678901234567890").pow(3).mod(java.math.BigInteger.valueOf(97)) + " " + new java.math.BigDecimal("1.10").add(new java.math.BigDecimal("2.205")));
        ByteArrayOutputStream saved = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(saved)) {
            out.writeObject(new ArrayList<>(List.of("a", 1, Map.of("k", 2.5))));
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(saved.toByteArray()))) {
            System.out.println(in.readObject());
        }
        Scanner scanner = new Scanner("12 abc 3.5").useLocale(Locale.ROOT);
        System.out.println(scanner.nextInt() + scanner.next() + scanner.nextDouble());
        Properties properties = new Properties();
        properties.load(new StringReader("a=1\nb = two"));
        System.out.println(properties.getProperty("b") + System.getProperty("java.specification.version"));
    }
}
