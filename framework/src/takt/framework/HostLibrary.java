// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import java.io.File;

/**
 * Brings in AOSP's own native library for hosts: graphics, text, resources and SQLite. It lies in a
 * folder with ICU's data and the fonts.
 *
 * <p>What stays ours is left out of its list of classes: parcels, binders, the message queue, the
 * clock, the log, tracing and system properties.
 */
public final class HostLibrary {
    /** The folder: the property that the launcher sets. */
    public static final String PROPERTY = "takt.host";

    /** Classes that the library registers natives of, besides those of graphics. */
    private static final String[] CORE = {
        "android.animation.PropertyValuesHolder",
        "android.content.res.ApkAssets",
        "android.content.res.AssetManager",
        "android.content.res.StringBlock",
        "android.content.res.XmlBlock",
        "android.database.CursorWindow",
        "android.database.sqlite.SQLiteConnection",
        "android.database.sqlite.SQLiteDebug",
        "android.database.sqlite.SQLiteGlobal",
        "android.database.sqlite.SQLiteRawStatement",
        "android.media.ImageReader",
        "android.media.PublicFormatUtils",
        "android.text.AndroidCharacter",
        "android.view.KeyCharacterMap",
        "android.view.KeyEvent",
        "android.view.MotionEvent",
        "android.view.Surface",
        "android.view.VelocityTracker",
        "com.android.internal.util.VirtualRefBasePtr",
    };

    /** Classes of graphics; of some only the nested ones have natives. */
    private static final String[] GRAPHICS = {
        "android.graphics.Bitmap",
        "android.graphics.BitmapFactory",
        "android.graphics.BitmapRegionDecoder",
        "android.graphics.ByteBufferStreamAdaptor",
        "android.graphics.Camera",
        "android.graphics.Canvas",
        "android.graphics.CanvasProperty",
        "android.graphics.Color",
        "android.graphics.ColorFilter",
        "android.graphics.ColorSpace",
        "android.graphics.CreateJavaOutputStreamAdaptor",
        "android.graphics.DrawFilter",
        "android.graphics.FontFamily",
        "android.graphics.Gainmap",
        "android.graphics.Graphics",
        "android.graphics.HardwareRenderer",
        "android.graphics.HardwareRendererObserver",
        "android.graphics.HardwareBufferRenderer",
        "android.graphics.ImageDecoder",
        "android.graphics.Interpolator",
        "android.graphics.MaskFilter",
        "android.graphics.Matrix",
        "android.graphics.Mesh",
        "android.graphics.MeshSpecification",
        "android.graphics.NinePatch",
        "android.graphics.Paint",
        "android.graphics.Path",
        "android.graphics.PathEffect",
        "android.graphics.PathIterator",
        "android.graphics.PathMeasure",
        "android.graphics.Picture",
        "android.graphics.RecordingCanvas",
        "android.graphics.Region",
        "android.graphics.RenderEffect",
        "android.graphics.RenderNode",
        "android.graphics.Shader",
        "android.graphics.Typeface",
        "android.graphics.YuvImage",
        "android.graphics.animation.NativeInterpolatorFactory",
        "android.graphics.animation.RenderNodeAnimator",
        "android.graphics.drawable.AnimatedVectorDrawable",
        "android.graphics.drawable.AnimatedImageDrawable",
        "android.graphics.drawable.VectorDrawable",
        "android.graphics.fonts.Font",
        "android.graphics.fonts.FontFamily",
        "android.graphics.text.GraphemeBreak",
        "android.graphics.text.LineBreaker",
        "android.graphics.text.MeasuredText",
        "android.graphics.text.TextRunShaper",
        "android.util.PathParser",
    };

    private HostLibrary() {}

    /** Loads it, once, after our own natives. Does nothing where no folder is named: in a guest. */
    public static void load() {
        String folder = System.getProperty(PROPERTY);
        if (folder == null) {
            return;
        }
        Natives.load();
        System.setProperty("use_base_native_hostruntime", "true");
        System.setProperty("core_native_classes", String.join(",", CORE));
        System.setProperty("graphics_native_classes", String.join(",", GRAPHICS));
        System.setProperty("icu.data.path", new File(folder, "icudt75l.dat").getPath());
        System.setProperty("icu.locale.default", "en-US");
        load(new File(folder, "libandroid_runtime.so").getPath(), HostLibrary.class.getClassLoader());
    }

    /** Where the fonts lie, with their list. */
    public static File fonts() {
        return new File(System.getProperty(PROPERTY), "fonts");
    }

    /** Prints what the library has registered, as {@code CLASS NAME DESCRIPTOR}. */
    public static void main(String[] arguments) {
        load();
        System.out.println(String.join("\n", registered()));
    }

    private static native void load(String library, ClassLoader loader);

    private static native String[] registered();
}
