// SPDX-License-Identifier: Apache-2.0
package android.graphics;

import android.os.Handler;
import android.os.Looper;
import takt.screen.Textures;

/**
 * In place of AOSP's class, which hands frames to OpenGL: frames that are drawn with a canvas, for
 * a TextureView. What needs OpenGL says that it is not supported.
 */
public class SurfaceTexture {
    /** The number of a Surface's native object: natives read it. */
    private final long mNumber;
    private final boolean isSingle;
    private volatile long timestamp;

    /** Callback when a frame is there. */
    public interface OnFrameAvailableListener {
        void onFrameAvailable(SurfaceTexture texture);
    }

    /** Callback when a rate of frames is asked for. */
    public interface OnSetFrameRateListener {
        void onSetFrameRate(SurfaceTexture texture, float rate, int compatibility, int strategy);
    }

    /** Thrown by nothing any longer, as on Android. */
    @Deprecated
    public static class OutOfResourcesException extends Exception {
        private static final long serialVersionUID = 1;

        public OutOfResourcesException() {}

        public OutOfResourcesException(String name) {
            super(name);
        }
    }

    /** For OpenGL's texture of this name. */
    public SurfaceTexture(int name) {
        this(name, false);
    }

    public SurfaceTexture(int name, boolean singleBufferMode) {
        throw openGl("a texture");
    }

    public SurfaceTexture(boolean singleBufferMode) {
        isSingle = singleBufferMode;
        mNumber = Textures.open(this);
    }

    private static UnsupportedOperationException openGl(String what) {
        return new UnsupportedOperationException(
                "android.graphics.SurfaceTexture: " + what + " of OpenGL is not supported by Takt yet");
    }

    public void setOnFrameAvailableListener(OnFrameAvailableListener listener) {
        setOnFrameAvailableListener(listener, null);
    }

    /** Without a handler: on the caller's looper, or the main one. */
    public void setOnFrameAvailableListener(OnFrameAvailableListener listener, Handler handler) {
        Looper own = Looper.myLooper();
        Handler chosen = handler != null ? handler : new Handler(own != null ? own : Looper.getMainLooper());
        Runnable heard = listener == null ? null : () -> listener.onFrameAvailable(this);
        Textures.listen(mNumber, heard == null ? null : () -> {
            timestamp = System.nanoTime();
            chosen.post(heard);
        });
    }

    /** The display has one rate: nobody asks for another. */
    public void setOnSetFrameRateListener(OnSetFrameRateListener listener, Handler handler) {}

    /** Counts from the next lock on. */
    public void setDefaultBufferSize(int width, int height) {
        Textures.resize(mNumber, width, height);
    }

    public void updateTexImage() {
        throw openGl("updateTexImage");
    }

    public void releaseTexImage() {
        throw openGl("releaseTexImage");
    }

    public void detachFromGLContext() {
        throw openGl("detachFromGLContext");
    }

    public void attachToGLContext(int name) {
        throw openGl("attachToGLContext");
    }

    /** As it is drawn. */
    public void getTransformMatrix(float[] matrix) {
        android.opengl.Matrix.setIdentityM(matrix, 0);
    }

    /** When the last frame was there, in nanoseconds; zero before the first. */
    public long getTimestamp() {
        return timestamp;
    }

    /** DataSpace.DATASPACE_UNKNOWN. */
    public int getDataSpace() {
        return 0;
    }

    public void release() {
        Textures.close(mNumber);
    }

    public boolean isReleased() {
        return !Textures.isOpen(mNumber);
    }

    public boolean isSingleBuffered() {
        return isSingle;
    }
}
