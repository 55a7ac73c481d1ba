// SPDX-License-Identifier: Apache-2.0
package org.example.surfaces;

import android.app.Activity;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.graphics.Rect;
import android.graphics.SurfaceTexture;
import android.os.Bundle;
import android.util.Log;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.Surface;
import android.view.SurfaceHolder;
import android.view.SurfaceView;
import android.view.TextureView;
import android.view.View;
import android.webkit.WebView;
import android.widget.FrameLayout;
import android.widget.TextView;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/**
 * Two views with surfaces of their own, one below the window and one above it, which a thread of
 * the application's draws. Keys move, resize and hide them.
 */
public final class Shown extends Activity {
    static final String TAG = "Surfaces";
    private static final int POLICY_AFTER_NAME = 38;

    private SurfaceView below;
    private TextView text;
    private TextureView texture;
    private Surface kept;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        FrameLayout frame = new FrameLayout(this);
        below = new SurfaceView(this);
        below.getHolder().addCallback(new Painter("below", Color.RED));
        frame.addView(below, new FrameLayout.LayoutParams(300, 200));
        text = new TextView(this);
        text.setText("Over it");
        text.setBackgroundColor(Color.WHITE);
        frame.addView(text, new FrameLayout.LayoutParams(100, 40));
        SurfaceView above = new SurfaceView(this);
        above.setZOrderOnTop(true);
        above.getHolder().addCallback(new Painter("above", Color.BLUE));
        FrameLayout.LayoutParams right = new FrameLayout.LayoutParams(200, 200);
        right.leftMargin = 400;
        frame.addView(above, right);
        texture = new TextureView(this);
        texture.setSurfaceTextureListener(new Drawn());
        FrameLayout.LayoutParams low = new FrameLayout.LayoutParams(200, 100);
        low.topMargin = 300;
        frame.addView(texture, low);
        below.setOnTouchListener((view, event) -> {
            if (event.getAction() == MotionEvent.ACTION_DOWN) {
                Log.i(TAG, "touched " + (int) event.getX() + " " + (int) event.getY());
            }
            return true;
        });
        setContentView(frame);
    }

    @Override
    public boolean onKeyDown(int code, KeyEvent event) {
        switch (code) {
            case KeyEvent.KEYCODE_M -> below.setTranslationX(50);
            case KeyEvent.KEYCODE_R -> below.getHolder().setFixedSize(30, 20);
            case KeyEvent.KEYCODE_H -> below.setVisibility(View.INVISIBLE);
            case KeyEvent.KEYCODE_S -> below.setVisibility(View.VISIBLE);
            case KeyEvent.KEYCODE_D -> drawPart();
            case KeyEvent.KEYCODE_W -> drawByRenderer();
            case KeyEvent.KEYCODE_G -> drawOnWhatIsGone();
            case KeyEvent.KEYCODE_X -> drawBySurface();
            case KeyEvent.KEYCODE_T -> renderThread();
            case KeyEvent.KEYCODE_N -> notThere();
            default -> {
                return super.onKeyDown(code, event);
            }
        }
        return true;
    }

    /** A dirty rectangle: what lies outside stays. */
    private void drawPart() {
        SurfaceHolder holder = below.getHolder();
        Rect dirty = new Rect(-10, 100, 20, 120);
        Canvas canvas = holder.lockCanvas(dirty);
        Log.i(TAG, "dirty " + dirty.toShortString());
        canvas.drawColor(Color.GREEN);
        holder.unlockCanvasAndPost(canvas);
    }

    /** A canvas that AOSP's renderer draws, twice: all of it is drawn anew each time. */
    private void drawByRenderer() {
        SurfaceHolder holder = below.getHolder();
        for (int colour : new int[] {Color.BLUE, Color.GREEN}) {
            Canvas canvas = holder.lockHardwareCanvas();
            Log.i(TAG, "hardware " + canvas.isHardwareAccelerated() + " " + canvas.getWidth() + "x"
                    + canvas.getHeight());
            canvas.drawColor(colour);
            Paint paint = new Paint();
            paint.setColor(Color.YELLOW);
            canvas.drawRect(200, 100, 220, 120, paint);
            holder.unlockCanvasAndPost(canvas);
        }
    }

    /** As Android answers when a surface is no longer there. */
    private void drawOnWhatIsGone() {
        Log.i(TAG, "canvas " + below.getHolder().lockCanvas() + ", valid " + below.getHolder().getSurface().isValid());
        try {
            kept.lockCanvas(null);
        } catch (IllegalStateException | IllegalArgumentException e) {
            Log.i(TAG, e.getClass().getSimpleName());
        }
    }

    /** A view in the window whose frames come from elsewhere. */
    private final class Drawn implements TextureView.SurfaceTextureListener {
        private static final String TAG = "Texture";

        @Override
        public void onSurfaceTextureAvailable(SurfaceTexture given, int width, int height) {
            Log.i(TAG, "available " + width + "x" + height);
            Canvas canvas = texture.lockCanvas();
            canvas.drawColor(Color.MAGENTA);
            texture.unlockCanvasAndPost(canvas);
        }

        @Override
        public void onSurfaceTextureSizeChanged(SurfaceTexture given, int width, int height) {
            Log.i(TAG, "changed " + width + "x" + height);
        }

        @Override
        public boolean onSurfaceTextureDestroyed(SurfaceTexture given) {
            Log.i(TAG, "destroyed");
            return true;
        }

        @Override
        public void onSurfaceTextureUpdated(SurfaceTexture given) {
            Log.i(TAG, "updated");
        }
    }

    /** By a Surface of the view's texture, and by one that is released. */
    private void drawBySurface() {
        Surface surface = new Surface(texture.getSurfaceTexture());
        Canvas canvas = surface.lockCanvas(new Rect(0, 0, 100, 100));
        canvas.drawColor(Color.CYAN);
        surface.unlockCanvasAndPost(canvas);
        surface.release();
        try {
            surface.lockCanvas(null);
        } catch (IllegalStateException e) {
            Log.i("Texture", "released");
        }
    }

    /** How many threads of the library's draw, and by what policy: the field 41 of their line. */
    private static void renderThread() {
        int count = 0;
        String policies = "";
        for (File thread : new File("/proc/self/task").listFiles()) {
            try {
                if (Files.readString(new File(thread, "comm").toPath()).trim().equals("RenderThread")) {
                    count++;
                    String line = Files.readString(new File(thread, "stat").toPath());
                    policies += " " + line.substring(line.lastIndexOf(')') + 2).split(" ")[POLICY_AFTER_NAME];
                }
            } catch (IOException e) {
                // It has ended meanwhile.
                Log.i(TAG, "gone");
            }
        }
        Log.i(TAG, "render threads " + count + ", policy" + policies);
    }

    /** What the system has not says so. */
    private void notThere() {
        try {
            new WebView(this);
        } catch (UnsupportedOperationException e) {
            Log.i(TAG, e.getMessage());
        }
    }

    /** Draws once for each size, in a thread of its own. */
    private final class Painter implements SurfaceHolder.Callback2 {
        private final String name;
        private final int colour;

        Painter(String name, int colour) {
            this.name = name;
            this.colour = colour;
        }

        @Override
        public void surfaceCreated(SurfaceHolder holder) {
            Log.i(TAG, name + " created, valid " + holder.getSurface().isValid());
        }

        @Override
        public void surfaceChanged(SurfaceHolder holder, int format, int width, int height) {
            Log.i(TAG, name + " changed " + width + "x" + height);
            kept = holder.getSurface();
            Thread thread = new Thread(() -> draw(holder), "painter");
            thread.start();
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void surfaceRedrawNeeded(SurfaceHolder holder) {
            Log.i(TAG, name + " redraw");
        }

        @Override
        public void surfaceDestroyed(SurfaceHolder holder) {
            Log.i(TAG, name + " destroyed, valid " + holder.getSurface().isValid());
        }

        private void draw(SurfaceHolder holder) {
            Canvas canvas = holder.lockCanvas();
            canvas.drawColor(colour);
            Paint paint = new Paint();
            paint.setColor(Color.YELLOW);
            canvas.drawRect(0, 0, 10, 10, paint);
            holder.unlockCanvasAndPost(canvas);
        }
    }
}
