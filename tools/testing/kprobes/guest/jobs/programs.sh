# SPDX-License-Identifier: GPL-2.0
# Debian's root, in which /clients/run.sh runs the programs that use probes. The
# root is read from the machine outside; what is written to it is in memory.

# outside TAG PLACE OPTIONS: a folder of the machine outside.
outside() {
	mkdir -p "$2"
	mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,$3" "$1" "$2"
}

outside root /debian ro,cache=loose
mkdir -p /written
mount -t tmpfs written /written
mkdir -p /written/files /written/work /over
mount -t overlay -o lowerdir=/debian,upperdir=/written/files,workdir=/written/work \
	over /over
outside kernel /over/kernel ro,cache=loose
outside clients /over/clients ro,cache=loose
outside selftests /over/selftests ro,cache=loose
outside stap /over/stap ro,cache=loose
outside bpf /over/bpf ro,cache=loose
outside results /over/results rw
for folder in proc sys dev; do
	mount -o rbind /$folder /over/$folder
done
mount -t tmpfs shm /over/dev/shm -o mode=1777
ln -sfn /proc/self/fd /over/dev/fd
mkdir -p /over/dev/pts
mount -t devpts pts /over/dev/pts
mount -t tmpfs tmp /over/tmp
outside modules "/over/lib/modules/$(uname -r)/kernel" ro,cache=loose
for file in order builtin builtin.modinfo; do
	: >"/over/lib/modules/$(uname -r)/modules.$file"
done
chroot /over /usr/sbin/depmod -a
# bcc compiles with the headers that the kernel has in itself.
chroot /over /usr/sbin/modprobe kheaders
ip link set lo up 2>/dev/null || ifconfig lo up

IMPL=$IMPL SLOW=$SLOW PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 \
	WANTED="$CASES" chroot /over /bin/bash /clients/run.sh
