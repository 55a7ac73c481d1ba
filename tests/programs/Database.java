// SPDX-License-Identifier: Apache-2.0

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** H2 in memory: tables, an index, transactions, joins, aggregation, an error. */
public class Database {
    public static void main(String[] args) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:h2:mem:takt")) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("create table plant(id int primary key, name varchar(40), height decimal(8, 2))");
                statement.execute("create table visit(plant int references plant(id), seen date, note varchar)");
                statement.execute("create index visited on visit(seen)");
            }
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("insert into plant values (?, ?, ?)")) {
                for (int i = 0; i < 500; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "plant " + i % 17);
                    insert.setBigDecimal(3, java.math.BigDecimal.valueOf(i * 37 % 1000, 2));
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            try (PreparedStatement insert = connection.prepareStatement("insert into visit values (?, ?, ?)")) {
                for (int i = 0; i < 700; i++) {
                    insert.setInt(1, i * 7 % 500);
                    insert.setObject(2, java.time.LocalDate.of(2024, 1, 1).plusDays(i % 40));
                    insert.setString(3, "n".repeat(i % 9));
                    insert.execute();
                }
            }
            connection.commit();
            try (Statement statement = connection.createStatement()) {
                statement.execute("delete from visit where length(note) = 3");
                connection.rollback();
                ResultSet rows = statement.executeQuery("""
                    select name, count(*), sum(height), max(seen), min(length(note))
                    from plant join visit on plant.id = visit.plant
                    where seen between date '2024-01-05' and date '2024-02-01'
                    group by name having count(*) > 10 order by 3 desc, name""");
                while (rows.next()) {
                    System.out.println(rows.getString(1) + " " + rows.getInt(2) + " " + rows.getBigDecimal(3)
                        + " " + rows.getDate(4) + " " + rows.getInt(5));
                }
                try {
                    statement.execute("insert into visit values (1000, date '2024-01-01', 'nowhere')");
                } catch (SQLException e) {
                    System.out.println(e.getErrorCode() + " " + e.getMessage().lines().findFirst().orElse(""));
                }
            }
        }
    }
}
