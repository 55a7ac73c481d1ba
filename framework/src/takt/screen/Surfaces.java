// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.graphics.PixelFormat;
import android.media.Image;
import android.media.ImageReader;
import android.view.Surface;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What AOSP's library draws into: it knows surfaces of image readers alone. Natives call this, by
 * numbers of their own.
 */
final class Surfaces {
    private static final Map<Long, ImageReader> READERS = new ConcurrentHashMap<>();
    private static final Map<Long, Image> IMAGES = new ConcurrentHashMap<>();
    private static final int PIXEL_BYTES = 4;

    private Surfaces() {}

    /** A surface of so many columns and rows. */
    static Surface make(long number, int width, int height) {
        ImageReader reader = ImageReader.newInstance(width, height, PixelFormat.RGBA_8888, 1);
        READERS.put(number, reader);
        return reader.getSurface();
    }

    /** Its pixels, once something was drawn. */
    static ByteBuffer pixels(long number) {
        ImageReader reader = READERS.get(number);
        Image.Plane plane = IMAGES.computeIfAbsent(number, it -> reader.acquireNextImage()).getPlanes()[0];
        if (plane.getRowStride() != reader.getWidth() * PIXEL_BYTES) {
            throw new UnsupportedOperationException(
                    "rows of " + plane.getRowStride() + " bytes are not supported by Takt yet");
        }
        return plane.getBuffer();
    }

    /** Nobody draws there any longer. */
    static void free(long number) {
        Image image = IMAGES.remove(number);
        if (image != null) {
            image.close();
        }
        ImageReader reader = READERS.remove(number);
        if (reader != null) {
            reader.close();
        }
    }
}
