// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

import android.app.Activity;
import android.content.ClipData;
import android.content.Intent;
import android.net.Uri;
import android.os.Bundle;
import android.util.Log;

/** Grants addresses: by an intent, which ends with who gets it, and by name. */
public final class Lend extends Activity {
    private static final String TAG = "Lend";
    private static final String TAKER = "org.example.taker";

    private static Uri at(String path) {
        return Uri.parse("content://org.example.giver.lent/" + path);
    }

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Intent borrow = new Intent().setClassName(TAKER, TAKER + ".Borrow").setData(at("secret"));
        borrow.addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION);
        try {
            startActivity(borrow);
            Log.e(TAG, "secret is granted");
        } catch (SecurityException e) {
            Log.i(TAG, "secret is not granted");
        }
        borrow.setData(at("open/1"));
        borrow.setClipData(ClipData.newRawUri("clip", at("open/2")));
        startActivityForResult(borrow, 1);
    }

    @Override
    protected void onActivityResult(int request, int code, Intent data) {
        Log.i(TAG, "returned " + code);
        int kept = Intent.FLAG_GRANT_READ_URI_PERMISSION | Intent.FLAG_GRANT_PERSISTABLE_URI_PERMISSION;
        grantUriPermission(TAKER, at("open/kept"), kept);
        grantUriPermission(TAKER, at("open/all"), Intent.FLAG_GRANT_WRITE_URI_PERMISSION
                | Intent.FLAG_GRANT_PREFIX_URI_PERMISSION);
        startActivity(new Intent().setClassName(TAKER, TAKER + ".Borrow").setAction("again"));
        finish();
    }
}
