// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.content.ClipData;
import android.content.ClipboardManager;
import android.content.Intent;
import android.net.Uri;

/** Cut and paste, in one process. */
public final class Clips extends Day {
    @Override
    @SuppressWarnings("deprecation")
    void day() {
        ClipboardManager clips = getSystemService(ClipboardManager.class);
        // Heard by the main looper, so after this day.
        ClipboardManager.OnPrimaryClipChangedListener heard = () -> say("heard", clips::hasPrimaryClip);
        ClipboardManager.OnPrimaryClipChangedListener gone = () -> say("heard", () -> "though removed");
        say("empty", () -> clips.hasPrimaryClip() + " " + clips.getPrimaryClip() + " "
                + clips.getPrimaryClipDescription() + " " + clips.hasText());
        clips.addPrimaryClipChangedListener(heard);
        clips.addPrimaryClipChangedListener(gone);
        clips.removePrimaryClipChangedListener(gone);
        ClipData own = ClipData.newPlainText("label", "text");
        say("set", () -> {
            clips.setPrimaryClip(own);
            return clips.hasPrimaryClip() + " " + clips.hasText() + " " + clips.getText();
        });
        say("copied", () -> clips.getPrimaryClip() != own);
        say("described", () -> clips.getPrimaryClipDescription().getLabel() + " "
                + clips.getPrimaryClipDescription().getMimeType(0) + " "
                + (clips.getPrimaryClipDescription().getTimestamp() > 0));
        say("uri", () -> {
            ClipData uri = ClipData.newRawUri("uri", Uri.parse("content://org.example/1"));
            uri.addItem(new ClipData.Item(new Intent("ACTION")));
            clips.setPrimaryClip(uri);
            return clips.getPrimaryClip().getItemCount() + " " + clips.getPrimaryClip().getItemAt(0).getUri() + " "
                    + clips.hasText();
        });
        say("old", () -> {
            clips.setText("old way");
            return clips.getText();
        });
        say("cleared", () -> {
            clips.clearPrimaryClip();
            return clips.hasPrimaryClip();
        });
        say("null", () -> {
            clips.setPrimaryClip(null);
            return "set";
        });
    }
}
