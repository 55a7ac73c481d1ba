// SPDX-License-Identifier: Apache-2.0
package org.example.drawing;

import android.graphics.Bitmap;
import android.graphics.BitmapFactory;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.graphics.Path;
import android.graphics.Typeface;
import android.os.Parcel;
import java.io.ByteArrayOutputStream;

/** Bitmaps, canvases, text. */
final class Pictures {
    private static final int SIDE = 64;

    private Pictures() {}

    static void draw() {
        Bitmap bitmap = Bitmap.createBitmap(SIDE, SIDE, Bitmap.Config.ARGB_8888);
        Canvas canvas = new Canvas(bitmap);
        canvas.drawColor(Color.WHITE);
        Paint paint = new Paint();
        paint.setColor(Color.RED);
        canvas.drawRect(8, 8, 24, 24, paint);
        canvas.save();
        canvas.translate(32, 0);
        paint.setColor(Color.BLUE);
        Path path = new Path();
        path.moveTo(0, 0);
        path.lineTo(31, 0);
        path.lineTo(0, 31);
        path.close();
        canvas.drawPath(path, paint);
        canvas.restore();
        Sheet.log("pixels: " + hex(bitmap, 10, 10) + " " + hex(bitmap, 2, 2) + " " + hex(bitmap, 34, 2) + " "
                + hex(bitmap, 62, 30));
        text(bitmap, canvas);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        boolean isWritten = bitmap.compress(Bitmap.CompressFormat.PNG, 100, out);
        byte[] png = out.toByteArray();
        Bitmap read = BitmapFactory.decodeByteArray(png, 0, png.length);
        Sheet.log("png: " + isWritten + " " + read.getWidth() + "x" + read.getHeight() + " " + read.sameAs(bitmap));
        Sheet.log("others: " + again(bitmap, Bitmap.CompressFormat.JPEG) + " "
                + again(bitmap, Bitmap.CompressFormat.WEBP_LOSSY));
        Bitmap half = Bitmap.createScaledBitmap(bitmap, SIDE / 2, SIDE / 2, false);
        Sheet.log("half: " + half.getWidth() + " " + hex(half, 8, 8));
    }

    /** The red square's middle, red or nearly so, after it was written and read in a format. */
    private static boolean again(Bitmap bitmap, Bitmap.CompressFormat format) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        bitmap.compress(format, 90, out);
        int pixel = BitmapFactory.decodeByteArray(out.toByteArray(), 0, out.size()).getPixel(16, 16);
        return Color.red(pixel) > 200 && Color.green(pixel) < 60 && Color.blue(pixel) < 60;
    }

    /** A bitmap does not go into a parcel yet, and that says so by the method's name. */
    static void send() {
        Parcel parcel = Parcel.obtain();
        try {
            Bitmap.createBitmap(1, 1, Bitmap.Config.ARGB_8888).writeToParcel(parcel, 0);
        } catch (UnsatisfiedLinkError e) {
            Sheet.log("parcel: " + e.getMessage().contains("nativeWriteToParcel"));
        }
        parcel.recycle();
    }

    /** Some of the pixels are dark, and a wider text is wider. */
    private static void text(Bitmap bitmap, Canvas canvas) {
        Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);
        paint.setTextSize(24);
        canvas.drawText("Takt", 4, 56, paint);
        int dark = 0;
        for (int y = 36; y < SIDE; y++) {
            for (int x = 0; x < SIDE; x++) {
                dark += Color.green(bitmap.getPixel(x, y)) < 128 ? 1 : 0;
            }
        }
        float narrow = paint.measureText("iiii");
        float wide = paint.measureText("WWWW");
        paint.setTypeface(Typeface.MONOSPACE);
        boolean isEven = paint.measureText("iiii") == paint.measureText("WWWW");
        Sheet.log("text: " + (dark > 100 && dark < 1000) + " " + (narrow * 2 < wide) + " " + isEven);
    }

    static String hex(Bitmap bitmap, int x, int y) {
        return Integer.toHexString(bitmap.getPixel(x, y));
    }
}
