// SPDX-License-Identifier: Apache-2.0
// One of each kind of instruction, for `takt dex dump` against dexdump; javac 17 and D8 compile it.
import java.util.function.*;
import java.lang.invoke.*;
class Shapes {
  static final long BIG = 0x123456789abcdefL; static final double D = 2.5; static final float F = 1e-3f; static final String S = "a\nb\u00e9\ud83d\ude00\u0000c";
  interface Shape { double area(); default String label() { return "shape"; } }
  record Circle(double r) implements Shape { public double area() { return Math.PI * r * r; } }
  record Square(double s) implements Shape { public double area() { return s * s; } }
  enum Colour { RED, GREEN, BLUE }
  @Deprecated int sw(int x) { switch (x) { case 1: return 10; case 2: return 20; case 3: return 5; case 1000: return 7; case -50000: return 9; default: return 0; } }
  int sp(int x) { switch (x) { case -70000: return 1; case 5: return 2; case 900000: return 3; default: return 4; } }
  int col(Colour c) { return switch (c) { case RED -> 1; case GREEN -> 2; case BLUE -> 3; }; }
  int[] arr() { return new int[] {1,2,3,4,5,6,7,8,9,10}; }
  byte[] bytes() { return new byte[] {1,2,3,4,5}; }
  long[][] multi(int n) { return new long[n][4]; }
  Supplier<String> lam(String p) { return () -> p + BIG; }
  Function<Object,String> ref() { return Object::toString; }
  synchronized void sync(Object o) { synchronized (o) { o.notifyAll(); } }
  int tries(String s) { try { return Integer.parseInt(s); } catch (NumberFormatException e) { return -1; } catch (RuntimeException e) { throw e; } finally { System.out.println(s); } }
  Object poly(MethodHandle h, int a, String b) throws Throwable { return (Object) h.invokeExact(a, b); }
  Object poly2(MethodHandle h, int a, String b) throws Throwable { return h.invoke(a, b, 3L, 4.0); }
  long ops(long a, int s, double d, float f, byte b, char c, short sh) { long r = a << s; r ^= (long) d; r += (int) f; r -= b * c / (sh | 1); r = -r; r = ~r; r >>>= 3; r %= 1000; return r + (d > f ? 1 : 0) + (a < s ? 2 : 3) + (int)(f * d) + (byte) s + (char) s + (short) s; }
  void many(int a,int b,int c,int d,int e,int f,int g,long h) { many(a,b,c,d,e,f,g,h); }
  public static void main(String[] a) { System.out.println(new Shapes().lam("x").get()); }
}
