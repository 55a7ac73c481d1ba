// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;
import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.content.IntentFilter;
import android.os.Bundle;
import android.util.Log;

/** Sends ordered broadcasts through two packages, and finds what stays. */
public final class Order extends Activity {
    private static final String TAG = "Order";

    /** Adds its number behind what it finds. */
    private static final class Link extends BroadcastReceiver {
        private final int number;

        Link(int number) {
            this.number = number;
        }

        @Override
        public void onReceive(Context context, Intent intent) {
            setResultCode(getResultCode() * 10 + number);
        }
    }

    private static final class End extends BroadcastReceiver {
        @Override
        public void onReceive(Context context, Intent intent) {
            Bundle extras = getResultExtras(false);
            Log.i(TAG, "end " + getResultCode() + " " + getResultData() + " " + extras.getString("by").trim());
        }
    }

    @Override
    @SuppressWarnings("deprecation")
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        register(new Link(2), 5);
        register(new Link(4), -5);
        Intent intent = new Intent("org.example.ORDER");
        sendOrderedBroadcast(intent, null, new End(), null, 9, "begun", null);
        sendOrderedBroadcast(intent.putExtra("abort", true), null, new End(), null, 8, "begun", null);
        Intent stays = registerReceiver(null, new IntentFilter("org.example.STAYS"));
        Log.i(TAG, stays == null ? "nothing stays" : "found " + stays.getStringExtra("text"));
        registerReceiver(new BroadcastReceiver() {
            @Override
            public void onReceive(Context context, Intent intent) {
                Log.i(TAG, "heard " + intent.getStringExtra("text") + " sticky " + isInitialStickyBroadcast());
            }
        }, new IntentFilter("org.example.STAYS"), RECEIVER_EXPORTED);
        try {
            sendStickyBroadcast(new Intent("org.example.STAYS"));
            Log.e(TAG, "sticky without permission");
        } catch (SecurityException e) {
            Log.i(TAG, "sticky is refused");
        }
    }

    private void register(Link link, int priority) {
        IntentFilter filter = new IntentFilter("org.example.ORDER");
        filter.setPriority(priority);
        registerReceiver(link, filter, RECEIVER_EXPORTED);
    }
}
