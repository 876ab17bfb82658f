// Run as a process of its own: a bare TCP echo on a port that it sends.
import net from 'node:net';

const server = net.createServer((socket) => {
	socket.setNoDelay(true);
	socket.on('error', () => {});
	socket.on('data', (data) => socket.write(data));
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
