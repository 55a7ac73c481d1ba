// SPDX-License-Identifier: Apache-2.0

import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.ArgumentMatchers.argThat;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.verifyNoMoreInteractions;
import static org.mockito.Mockito.when;
import static org.mockito.Mockito.withSettings;

import java.util.ArrayList;
import org.mockito.ArgumentCaptor;
import org.mockito.InOrder;
import org.mockito.MockMakers;
import org.mockito.Mockito;
import org.mockito.exceptions.base.MockitoAssertionError;
import org.mockito.exceptions.base.MockitoException;

/** Mocks and spies by the maker that is named; each maker's limits are part of what is printed. */
final class Mocks {
    interface Ledger {
        String entry(int number);

        default String first() {
            return entry(1);
        }
    }

    static class Account {
        private int balance = 5;

        int add(int amount) {
            return balance += amount;
        }

        final int balance() {
            return balance;
        }

        static String name() {
            return "an account";
        }
    }

    static final class Sealed {
        String word() {
            return "real";
        }
    }

    private static String maker;

    public static void main(String[] args) {
        maker = args[0];
        ledgers();
        if (!maker.equals(MockMakers.PROXY)) {
            accounts();
        }
        sealed();
    }

    private static <T> T of(Class<T> type) {
        return mock(type, withSettings().mockMaker(maker));
    }

    private static void ledgers() {
        Ledger ledger = of(Ledger.class);
        when(ledger.entry(anyInt()))
                .thenReturn("any")
                .thenAnswer(call -> "no. " + call.getArgument(0));
        when(ledger.entry(7)).thenThrow(new IllegalStateException("seven"));
        System.out.println(ledger.entry(3) + ", " + ledger.entry(4) + ", " + ledger.first());
        try {
            ledger.entry(7);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        InOrder order = inOrder(ledger);
        order.verify(ledger).entry(3);
        order.verify(ledger).entry(4);
        verify(ledger, times(1)).entry(7);
        verify(ledger, never()).entry(9);
        failure(() -> verify(ledger).entry(100));
        failure(() -> verifyNoMoreInteractions(ledger));
    }

    private static void accounts() {
        var settings = withSettings().mockMaker(maker).useConstructor();
        Account account = mock(Account.class, settings.defaultAnswer(Mockito.CALLS_REAL_METHODS));
        System.out.println(account.add(2) + " " + account.balance());
        doThrow(new IllegalArgumentException("too much")).when(account).add(100);
        try {
            account.add(100);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        ArgumentCaptor<Integer> amounts = ArgumentCaptor.forClass(Integer.class);
        verify(account, times(2)).add(amounts.capture());
        System.out.println(amounts.getAllValues());

        @SuppressWarnings("unchecked")
        ArrayList<String> list = of(ArrayList.class);
        when(list.add(argThat(word -> word.length() > 2))).thenReturn(true);
        when(list.get(anyInt())).thenReturn("zero", "one");
        System.out.println(list.add("ab") + " " + list.add("abc") + " " + list.get(0) + list.get(1));
        verify(list, times(2)).add(anyString());
        Account real = new Account();
        real.add(10);
        settings = withSettings().mockMaker(maker).spiedInstance(real);
        Account spied = mock(Account.class, settings.defaultAnswer(Mockito.CALLS_REAL_METHODS));
        System.out.println(spied.add(1) + " " + real.balance());
    }

    /** What only the inline maker can. */
    private static void sealed() {
        try {
            Sealed sealed = of(Sealed.class);
            when(sealed.word()).thenReturn("mocked");
            System.out.println(sealed.word() + " " + new Sealed().word());
        } catch (MockitoException e) {
            System.out.println(e.getMessage());
        }
        try (var names = Mockito.mockStatic(Account.class, withSettings().mockMaker(maker))) {
            names.when(Account::name).thenReturn("another");
            System.out.println(Account.name());
        } catch (MockitoException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Account.name());
    }

    private static void failure(Runnable check) {
        try {
            check.run();
        } catch (MockitoAssertionError e) {
            System.out.println(e.getMessage());
        }
    }
}
