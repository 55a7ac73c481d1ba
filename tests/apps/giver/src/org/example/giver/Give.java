// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

import android.app.Activity;
import android.app.PendingIntent;
import android.content.Intent;
import android.os.Bundle;
import android.os.Message;
import android.os.Messenger;
import android.os.RemoteException;
import android.os.ResultReceiver;
import android.util.Log;

/** Answers by the binders in the extras of what it is started with: gives PendingIntents away. */
public final class Give extends Activity {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        ResultReceiver result = getIntent().getParcelableExtra("result", ResultReceiver.class);
        Bundle said = new Bundle();
        said.putString("said", "here is giver");
        result.send(7, said);
        Message message = Message.obtain();
        Bundle given = message.getData();
        given.putParcelable("activity", PendingIntent.getActivity(this, 1, new Intent(this, Back.class), mutable()));
        given.putParcelable("service", PendingIntent.getService(this, 1, new Intent(this, Worker.class), mutable()));
        given.putParcelable("broadcast",
                PendingIntent.getBroadcast(this, 1, new Intent(this, Private.class).putExtra("own", "mine"), mutable()));
        given.putParcelable("fixed", PendingIntent.getBroadcast(this, 2,
                new Intent(this, Private.class).putExtra("own", "fixed"), PendingIntent.FLAG_IMMUTABLE));
        given.putParcelable("once", PendingIntent.getBroadcast(this, 3,
                new Intent(this, Private.class).putExtra("own", "once"),
                PendingIntent.FLAG_IMMUTABLE | PendingIntent.FLAG_ONE_SHOT));
        Messenger to = getIntent().getParcelableExtra("to", Messenger.class);
        try {
            to.send(message);
        } catch (RemoteException e) {
            Log.e("Give", "nobody hears", e);
        }
        finish();
    }

    private static int mutable() {
        return PendingIntent.FLAG_MUTABLE;
    }
}
