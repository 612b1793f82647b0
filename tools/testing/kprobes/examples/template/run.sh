# SPDX-License-Identifier: GPL-2.0
# The guest runs this while the module is loaded: make the calls that the probe is to see.
for code in 1 2 3; do
	sh -c "exit $code"
done
echo "three shells have ended"
