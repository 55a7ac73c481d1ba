// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.system.ErrnoException;
import android.system.Os;
import android.system.OsConstants;
import java.io.Closeable;
import java.io.FileDescriptor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import takt.framework.Cleaner;

/**
 * In place of AOSP's, which makes Android's own kind of direct buffer: memory that processes share,
 * as a file in memory whose size is sealed.
 *
 * <p>A buffer that was unmapped shows zeros of its own; AOSP's throws. Its file's pages are let go
 * at once, its addresses when the buffer is gone.
 */
public final class SharedMemory implements Parcelable, Closeable {
    public static final Creator<SharedMemory> CREATOR = new Creator<>() {
        @Override
        public SharedMemory createFromParcel(Parcel source) {
            return new SharedMemory(source.readRawFileDescriptor());
        }

        @Override
        public SharedMemory[] newArray(int size) {
            return new SharedMemory[size];
        }
    };

    private static final int READ_WRITE = OsConstants.PROT_READ | OsConstants.PROT_WRITE;
    /** By address. */
    private static final Map<Long, Mapping> MAPPINGS = new ConcurrentHashMap<>();

    private final FileDescriptor file;
    private final int size;
    private final Cleaner closer;

    private SharedMemory(FileDescriptor file) {
        if (file == null || !file.valid()) {
            throw new IllegalArgumentException("FileDescriptor is null or not valid");
        }
        this.file = file;
        try {
            size = nGetSize(file);
        } catch (ErrnoException e) {
            throw new IllegalArgumentException("FileDescriptor is not a valid ashmem fd", e);
        }
        closer = Cleaner.create(this, () -> close(file));
    }

    private static void close(FileDescriptor file) {
        try {
            Os.close(file);
        } catch (ErrnoException e) {
            throw new IllegalStateException(e);
        }
    }

    /** So many bytes, all zero; the name is for those who look at the process's mappings. */
    public static SharedMemory create(String name, int size) throws ErrnoException {
        if (size <= 0) {
            throw new IllegalArgumentException("Size must be greater than zero");
        }
        return new SharedMemory(nCreate(name == null ? "" : name, size));
    }

    /** Takes the descriptor over. */
    public static SharedMemory fromFileDescriptor(ParcelFileDescriptor descriptor) {
        return new SharedMemory(nFile(descriptor.detachFd()));
    }

    private void checkOpen() {
        if (!file.valid()) {
            throw new IllegalStateException("SharedMemory is closed");
        }
    }

    private static void checkProtection(int protection) {
        int others = ~(READ_WRITE | OsConstants.PROT_EXEC | OsConstants.PROT_NONE);
        if ((protection & others) != 0) {
            throw new IllegalArgumentException("Invalid prot value");
        }
    }

    /** Takes rights from later mappings, here and elsewhere; only the right to write can go. */
    public boolean setProtect(int protection) {
        checkOpen();
        checkProtection(protection);
        try {
            return nSetProt(file, protection);
        } catch (ErrnoException e) {
            return false;
        }
    }

    /** As long as this is open. */
    public FileDescriptor getFileDescriptor() {
        return file;
    }

    /** Its number; -1 if it is closed. */
    public int getFd() {
        return nNumber(file);
    }

    /** Bytes. */
    public int getSize() {
        checkOpen();
        return size;
    }

    /** All of it. */
    public ByteBuffer mapReadWrite() throws ErrnoException {
        return map(READ_WRITE, 0, size);
    }

    /** All of it. */
    public ByteBuffer mapReadOnly() throws ErrnoException {
        return map(OsConstants.PROT_READ, 0, size);
    }

    /** A part of it; the buffer outlives this object. */
    public ByteBuffer map(int protection, int offset, int length) throws ErrnoException {
        checkOpen();
        checkProtection(protection);
        if (offset < 0) {
            throw new IllegalArgumentException("Offset must be >= 0");
        }
        if (length <= 0) {
            throw new IllegalArgumentException("Length must be > 0");
        }
        if (length > size - offset) {
            throw new IllegalArgumentException("offset + length must not exceed getSize()");
        }
        Mapping mapping = new Mapping(nMap(file, protection, offset, length), length);
        ByteBuffer buffer = nBuffer(mapping.place, length);
        MAPPINGS.put(mapping.place, mapping);
        Cleaner.create(buffer, mapping::end);
        return (protection & OsConstants.PROT_WRITE) == 0 ? buffer.asReadOnlyBuffer() : buffer;
    }

    /** Lets go what a buffer shows. */
    public static void unmap(ByteBuffer buffer) {
        Mapping mapping = buffer.isDirect() ? MAPPINGS.get(nAddress(buffer)) : null;
        if (mapping == null) {
            throw new IllegalArgumentException("ByteBuffer wasn't created by #map(int, int, int); can't unmap");
        }
        mapping.forget();
    }

    @Override
    public void close() {
        closer.clean();
    }

    @Override
    public int describeContents() {
        return CONTENTS_FILE_DESCRIPTOR;
    }

    @Override
    public void writeToParcel(Parcel target, int flags) {
        checkOpen();
        target.writeFileDescriptor(file);
    }

    /** A descriptor of its own. */
    public ParcelFileDescriptor getFdDup() throws IOException {
        return ParcelFileDescriptor.dup(file);
    }

    /** What one buffer shows. */
    private static final class Mapping {
        final long place;
        private final int length;
        private boolean isOver;

        Mapping(long place, int length) {
            this.place = place;
            this.length = length;
        }

        synchronized void forget() {
            if (!isOver) {
                nForget(place, length);
            }
        }

        synchronized void end() {
            isOver = true;
            MAPPINGS.remove(place);
            nEnd(place, length);
        }
    }

    private static native FileDescriptor nCreate(String name, int size) throws ErrnoException;

    private static native FileDescriptor nFile(int number);

    private static native int nNumber(FileDescriptor file);

    private static native int nGetSize(FileDescriptor file) throws ErrnoException;

    private static native boolean nSetProt(FileDescriptor file, int protection) throws ErrnoException;

    private static native long nMap(FileDescriptor file, int protection, int offset, int length) throws ErrnoException;

    private static native ByteBuffer nBuffer(long place, int length);

    private static native long nAddress(ByteBuffer buffer);

    private static native void nForget(long place, int length);

    private static native void nEnd(long place, int length);
}
