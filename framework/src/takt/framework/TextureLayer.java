// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.Matrix;
import android.graphics.Paint;
import android.graphics.RectF;
import android.graphics.SurfaceTexture;
import takt.screen.Textures;

/**
 * In place of AOSP's class, which hands textures to OpenGL: a TextureView's frames, drawn as
 * pictures.
 */
public final class TextureLayer implements AutoCloseable {
    private long number;
    private Bitmap shown;
    private Paint paint;
    private final Matrix transform = new Matrix();
    private final RectF bounds = new RectF();

    public void setLayerPaint(Paint paint) {
        this.paint = paint;
    }

    public boolean prepare(int width, int height, boolean isOpaque) {
        bounds.set(0, 0, width, height);
        return true;
    }

    public void setTransform(Matrix matrix) {
        transform.set(matrix);
    }

    public void setSurfaceTexture(SurfaceTexture texture) {
        number = Textures.number(texture);
    }

    public void detachSurfaceTexture() {
        number = 0;
        shown = null;
    }

    /** Takes the last frame. */
    public void updateSurfaceTexture() {
        shown = Textures.shown(number);
    }

    /** False before the first frame. */
    public boolean copyInto(Bitmap bitmap) {
        if (shown == null) {
            return false;
        }
        new Canvas(bitmap).drawBitmap(shown, null, new RectF(0, 0, bitmap.getWidth(), bitmap.getHeight()), null);
        return true;
    }

    void draw(Canvas canvas) {
        if (shown == null) {
            return;
        }
        canvas.save();
        canvas.concat(transform);
        canvas.drawBitmap(shown, null, bounds, paint);
        canvas.restore();
    }

    @Override
    public void close() {
        detachSurfaceTexture();
    }
}
