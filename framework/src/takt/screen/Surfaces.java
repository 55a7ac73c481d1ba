// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.PixelFormat;
import android.graphics.Rect;
import android.media.Image;
import android.media.ImageReader;
import android.view.Surface;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What AOSP's library draws into: it knows surfaces of image readers alone; and what a locked
 * canvas draws into. Natives call this, by numbers of their own.
 */
final class Surfaces {
    private static final Map<Long, ImageReader> READERS = new ConcurrentHashMap<>();
    private static final Map<Long, Image> IMAGES = new ConcurrentHashMap<>();
    private static final Map<Long, Drawing> DRAWINGS = new ConcurrentHashMap<>();
    private static final int PIXEL_BYTES = 4;

    /** What a locked canvas draws into, and its pixels as they are shown. */
    private record Drawing(Bitmap bitmap, ByteBuffer pixels) {
        static Drawing of(int width, int height) {
            Bitmap bitmap = Bitmap.createBitmap(width, height, Bitmap.Config.ARGB_8888);
            // As Android's: what is drawn there is not scaled by densities.
            bitmap.setDensity(Bitmap.DENSITY_NONE);
            return new Drawing(bitmap, ByteBuffer.allocateDirect(width * height * PIXEL_BYTES));
        }

        boolean has(int width, int height) {
            return bitmap.getWidth() == width && bitmap.getHeight() == height;
        }
    }

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

    /**
     * Gives a canvas what was drawn last, to draw over {@code dirty}, or over all of it if that is
     * null. All of a new one is dirty.
     */
    static void lock(long number, int width, int height, Canvas canvas, Rect dirty) {
        Drawing drawing = DRAWINGS.get(number);
        boolean isNew = drawing == null || !drawing.has(width, height);
        if (isNew) {
            drawing = Drawing.of(width, height);
            DRAWINGS.put(number, drawing);
        }
        canvas.setBitmap(drawing.bitmap());
        if (dirty == null) {
            return;
        }
        if (isNew) {
            dirty.set(0, 0, width, height);
        } else if (!dirty.intersect(0, 0, width, height)) {
            dirty.setEmpty();
        }
        canvas.clipRect(dirty);
    }

    /** Its pixels; the canvas draws nowhere from now on. */
    static ByteBuffer unlock(long number, Canvas canvas) {
        canvas.setBitmap(null);
        Drawing drawing = DRAWINGS.get(number);
        if (drawing == null) {
            return null;
        }
        drawing.pixels().rewind();
        drawing.bitmap().copyPixelsToBuffer(drawing.pixels());
        return drawing.pixels();
    }

    /** The same for what a view shows: it is not a window's. */
    static void unlockTexture(long number, long texture, Canvas canvas) {
        canvas.setBitmap(null);
        Drawing drawing = DRAWINGS.get(number);
        if (drawing != null) {
            Textures.draw(texture, drawing.bitmap());
        }
    }

    /** Nobody draws there any longer. */
    static void free(long number) {
        DRAWINGS.remove(number);
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
