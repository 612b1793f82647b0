# SPDX-License-Identifier: GPL-2.0
# The calls that the probes are to see: the guest runs this while the module is loaded.
for code in 1 2 3; do
	sh -c "exit $code"
done
echo "three shells have ended"
