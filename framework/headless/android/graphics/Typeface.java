// SPDX-License-Identifier: Apache-2.0
package android.graphics;

import android.content.res.AssetManager;
import android.os.SharedMemory;
import java.io.File;
import java.util.Map;

/**
 * A typeface without glyphs, in front of AOSP's on the class path: nothing is drawn, so a family's
 * name and a style is all that can be asked for. AOSP's own loads the system's fonts when a process
 * starts.
 */
public class Typeface {
    /** Where the framework asks whether fonts are loaded when they are first used. */
    public static final boolean ENABLE_LAZY_TYPEFACE_INITIALIZATION = true;

    /** Style: neither. */
    public static final int NORMAL = 0;
    /** Style. */
    public static final int BOLD = 1;
    /** Style. */
    public static final int ITALIC = 2;
    /** Style: both. */
    public static final int BOLD_ITALIC = 3;
    /** Both styles' bits. */
    public static final int STYLE_MASK = 3;
    /** A weight or slope that the font file says. */
    public static final int RESOLVE_BY_FONT_TABLE = -1;
    /** The default family's name. */
    public static final String DEFAULT_FAMILY = "sans-serif";

    /** The default family. */
    public static final Typeface DEFAULT = new Typeface(DEFAULT_FAMILY, NORMAL);
    /** The default family, bold. */
    public static final Typeface DEFAULT_BOLD = new Typeface(DEFAULT_FAMILY, BOLD);
    /** Without serifs. */
    public static final Typeface SANS_SERIF = DEFAULT;
    /** With serifs. */
    public static final Typeface SERIF = new Typeface("serif", NORMAL);
    /** Of one width. */
    public static final Typeface MONOSPACE = new Typeface("monospace", NORMAL);

    private static final int WEIGHT_NORMAL = 400;
    private static final int WEIGHT_BOLD = 700;

    /** No native object. */
    public final long native_instance = 0;

    private final String family;
    private final int style;

    private Typeface(String family, int style) {
        this.family = family == null ? DEFAULT_FAMILY : family;
        this.style = style & STYLE_MASK;
    }

    /** A family and a style. */
    public static Typeface create(String family, int style) {
        return new Typeface(family, style);
    }

    /** The same family in a style. */
    public static Typeface create(Typeface family, int style) {
        return new Typeface(family == null ? null : family.family, style);
    }

    /** The same family of a weight. */
    public static Typeface create(Typeface family, int weight, boolean italic) {
        int bold = weight >= WEIGHT_BOLD ? BOLD : NORMAL;
        return create(family, italic ? bold | ITALIC : bold);
    }

    /** The default family in a style. */
    public static Typeface defaultFromStyle(int style) {
        return create(DEFAULT, style);
    }

    /** Named for the file. */
    public static Typeface createFromAsset(AssetManager assets, String path) {
        return new Typeface(path, NORMAL);
    }

    /** Named for the file. */
    public static Typeface createFromFile(File file) {
        return new Typeface(file.getPath(), NORMAL);
    }

    /** Named for the file. */
    public static Typeface createFromFile(String path) {
        return new Typeface(path, NORMAL);
    }

    /** 400, or 700 if bold. */
    public int getWeight() {
        return isBold() ? WEIGHT_BOLD : WEIGHT_NORMAL;
    }

    /** Its style's bits. */
    public int getStyle() {
        return style;
    }

    /** Is it bold? */
    public final boolean isBold() {
        return (style & BOLD) != 0;
    }

    /** Is it italic? */
    public final boolean isItalic() {
        return (style & ITALIC) != 0;
    }

    /** Its family's name. */
    public final String getSystemFontFamilyName() {
        return family;
    }

    /** There are no fonts to take over. */
    public static void setSystemFontMap(SharedMemory fonts) {}

    /** There are no fonts. */
    public static void loadPreinstalledSystemFontMap() {}

    /** There are no fonts. */
    public static Map<String, Typeface> getSystemFontMap() {
        return Map.of();
    }
}
