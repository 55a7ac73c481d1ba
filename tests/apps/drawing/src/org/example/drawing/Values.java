// SPDX-License-Identifier: Apache-2.0
package org.example.drawing;

import android.content.Context;
import android.content.res.Configuration;
import android.content.res.Resources;
import android.content.res.TypedArray;
import android.content.res.XmlResourceParser;
import android.graphics.Bitmap;
import android.graphics.Canvas;
import android.graphics.drawable.Drawable;
import android.text.Spanned;
import android.text.style.StyleSpan;
import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import org.xmlpull.v1.XmlPullParser;
import org.xmlpull.v1.XmlPullParserException;

/** Resources: values, qualifiers, themes, compiled XML, drawables. */
final class Values {
    private final Context context;
    private final Resources resources;

    private Values(Context context) {
        this.context = context;
        resources = context.getResources();
    }

    static void read(Context context) {
        Values values = new Values(context);
        values.plain();
        values.qualified();
        values.themed();
        values.parsed();
        values.drawn("disc");
        values.drawn("corner");
    }

    private int id(String type, String name) {
        return resources.getIdentifier(name, type, context.getPackageName());
    }

    private void plain() {
        int sheets = id("plurals", "sheets");
        Sheet.log("arrays: " + String.join(",", resources.getStringArray(id("array", "colours"))) + " "
                + Arrays.toString(resources.getIntArray(id("array", "primes"))));
        Sheet.log("plurals: " + resources.getQuantityString(sheets, 1, 1) + ", "
                + resources.getQuantityString(sheets, 2, 2));
        Spanned marked = (Spanned) resources.getText(id("string", "marked"));
        StyleSpan[] spans = marked.getSpans(0, marked.length(), StyleSpan.class);
        Sheet.log("marked: " + marked + ", bold from " + marked.getSpanStart(spans[0]));
        Sheet.log("name: " + resources.getResourceName(sheets) + ", of the framework: "
                + resources.getString(android.R.string.ok));
    }

    private void qualified() {
        Configuration other = new Configuration(resources.getConfiguration());
        other.setLocale(Locale.GERMANY);
        other.orientation = Configuration.ORIENTATION_LANDSCAPE;
        Resources german = context.createConfigurationContext(other).getResources();
        int greeting = id("string", "greeting");
        int orientation = id("string", "orientation");
        Sheet.log("qualified: " + resources.getString(greeting) + " " + resources.getString(orientation) + ", "
                + german.getString(greeting) + " " + german.getString(orientation));
    }

    private void themed() {
        int[] wanted = {id("attr", "ink"), id("attr", "thickness"), android.R.attr.colorBackground};
        TypedArray values = context.obtainStyledAttributes(wanted);
        Sheet.log("theme: " + Integer.toHexString(values.getColor(0, 0)) + " " + values.getDimension(1, 0) + " "
                + Integer.toHexString(values.getColor(2, 0)));
        values.recycle();
        Resources.Theme dark = resources.newTheme();
        dark.applyStyle(id("style", "Paper.Dark"), true);
        TypedArray darker = dark.obtainStyledAttributes(wanted);
        Sheet.log("child: " + Integer.toHexString(darker.getColor(0, 0)) + " " + darker.getDimension(1, 0));
        darker.recycle();
    }

    private void parsed() {
        StringBuilder text = new StringBuilder();
        try (XmlResourceParser parser = resources.getXml(id("xml", "tree"))) {
            for (int event = parser.next(); event != XmlPullParser.END_DOCUMENT; event = parser.next()) {
                if (event == XmlPullParser.START_TAG) {
                    text.append(' ').append(parser.getName()).append('=').append(parser.getAttributeValue(0));
                }
            }
        } catch (IOException | XmlPullParserException e) {
            throw new IllegalStateException(e);
        }
        Sheet.log("xml:" + text);
    }

    private void drawn(String name) {
        Drawable drawable = context.getDrawable(id("drawable", name));
        Bitmap bitmap = Bitmap.createBitmap(20, 20, Bitmap.Config.ARGB_8888);
        drawable.setBounds(0, 0, 20, 20);
        drawable.draw(new Canvas(bitmap));
        Sheet.log(name + ": " + drawable.getIntrinsicWidth() + " " + Pictures.hex(bitmap, 9, 9) + " "
                + Pictures.hex(bitmap, 19, 19));
    }
}
