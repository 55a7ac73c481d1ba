// SPDX-License-Identifier: Apache-2.0

/** Cooley and Tukey's transform in place, there and back. */
final class Fft {
    private static final int COUNT = 1024;

    static long run() {
        double[] data = new double[2 * COUNT];
        Random32 random = new Random32(113);
        for (int i = 0; i < data.length; i++) {
            data[i] = random.nextDouble();
        }
        transform(data, -1);
        double middle = data[COUNT];
        transform(data, 1);
        double sum = middle;
        for (int i = 0; i < data.length; i++) {
            data[i] /= COUNT;
            sum += data[i];
        }
        return Double.doubleToLongBits(sum);
    }

    private static void transform(double[] data, int direction) {
        reverse(data);
        for (int half = 1; half < COUNT; half *= 2) {
            double angle = direction * Math.PI / half;
            double sine = Math.sqrt(1 - cosine(angle) * cosine(angle)) * direction;
            double turnRe = cosine(angle);
            double wRe = 1;
            double wIm = 0;
            for (int k = 0; k < half; k++) {
                for (int i = 2 * k; i < 2 * COUNT; i += 4 * half) {
                    int j = i + 2 * half;
                    double re = wRe * data[j] - wIm * data[j + 1];
                    double im = wRe * data[j + 1] + wIm * data[j];
                    data[j] = data[i] - re;
                    data[j + 1] = data[i + 1] - im;
                    data[i] += re;
                    data[i + 1] += im;
                }
                double next = wRe * turnRe - wIm * sine;
                wIm = wIm * turnRe + wRe * sine;
                wRe = next;
            }
        }
    }

    /** By its series: the library's differs in the last bit between machines. */
    private static double cosine(double x) {
        double term = 1;
        double sum = 1;
        for (int n = 1; n < 20; n++) {
            term *= -x * x / ((2 * n - 1) * (2 * n));
            sum += term;
        }
        return sum;
    }

    private static void reverse(double[] data) {
        int j = 0;
        for (int i = 0; i < COUNT - 1; i++) {
            if (i < j) {
                swap(data, 2 * i, 2 * j);
                swap(data, 2 * i + 1, 2 * j + 1);
            }
            int bit = COUNT / 2;
            while (bit <= j) {
                j -= bit;
                bit /= 2;
            }
            j += bit;
        }
    }

    private static void swap(double[] data, int i, int j) {
        double kept = data[i];
        data[i] = data[j];
        data[j] = kept;
    }

    private Fft() {
    }
}
