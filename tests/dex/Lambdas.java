// SPDX-License-Identifier: Apache-2.0
// Lambdas and method handles as dx keeps them; javac 8 and dx compile it.
import java.util.function.*;
class Lambdas { Supplier<String> lam(String p) { return () -> p; } Function<Object,String> r() { return Object::toString; } int sw(int x){ switch(x){case 1:return 1;case 2:return 3;default:return 0;} } Object poly(java.lang.invoke.MethodHandle h) throws Throwable { return h.invoke(1,2L,"x"); } }
