// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.os.Bundle;
import android.util.Log;

/** One of those that an ordered broadcast goes through. */
public final class First extends BroadcastReceiver {
    @Override
    public void onReceive(Context context, Intent intent) {
        Log.i("First", "found " + getResultCode());
        Bundle extras = getResultExtras(true);
        extras.putString("by", extras.getString("by", "") + "First ");
        setResultExtras(extras);
        setResultCode(getResultCode() * 10 + 1);
    }
}
