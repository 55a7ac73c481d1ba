// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.graphics.Bitmap;
import android.graphics.SurfaceTexture;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Frames of SurfaceTextures, by the numbers of their Surfaces' native objects. */
public final class Textures {
    private static final Map<Long, Texture> TEXTURES = new ConcurrentHashMap<>();

    private static final class Texture {
        final WeakReference<SurfaceTexture> owner;
        volatile Runnable listener;
        volatile Bitmap shown;

        Texture(SurfaceTexture owner) {
            this.owner = new WeakReference<>(owner);
        }
    }

    private Textures() {}

    /** A new one's number. */
    public static long open(SurfaceTexture owner) {
        TEXTURES.forEach((number, it) -> {
            if (it.owner.get() == null) {
                close(number);
            }
        });
        long number = Native.openTexture();
        TEXTURES.put(number, new Texture(owner));
        return number;
    }

    /** Zero for one that is released. */
    public static long number(SurfaceTexture texture) {
        for (Map.Entry<Long, Texture> entry : TEXTURES.entrySet()) {
            if (entry.getValue().owner.get() == texture) {
                return entry.getKey();
            }
        }
        return 0;
    }

    /** Nobody draws there any longer. */
    public static void close(long number) {
        if (TEXTURES.remove(number) != null) {
            Native.closeTexture(number);
        }
    }

    public static boolean isOpen(long number) {
        return TEXTURES.containsKey(number);
    }

    public static void resize(long number, int width, int height) {
        Native.resizeTexture(number, width, height);
    }

    /** Runs when a frame is there; null: nothing does. */
    public static void listen(long number, Runnable listener) {
        Texture texture = TEXTURES.get(number);
        if (texture != null) {
            texture.listener = listener;
        }
    }

    /** The last frame, which stays as it is; null before the first. */
    public static Bitmap shown(long number) {
        Texture texture = TEXTURES.get(number);
        return texture == null ? null : texture.shown;
    }

    /** A frame is drawn: who shows it must not see the next one while that is drawn. */
    static void draw(long number, Bitmap drawn) {
        Texture texture = TEXTURES.get(number);
        if (texture == null) {
            return;
        }
        texture.shown = drawn.copy(Bitmap.Config.ARGB_8888, false);
        Runnable listener = texture.listener;
        if (listener != null) {
            listener.run();
        }
    }
}
